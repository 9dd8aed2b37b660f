package ofp

import (
	"fmt"
	"strings"
)

// ParseFlow reads one flow in ovs-ofctl's syntax. For Add and Modify there must be actions, for Delete,
// and so for filters (of dump-flows), there must not. What only a dump of flows says
// (duration, n_packets, ...) is ignored. n may be nil. An error names the part and the reason.
func ParseFlow(text string, n Names, cmd Command) (FlowMod, error) {
	var m FlowMod
	err := parseFlow(&m, text, n, cmd)
	return m, err
}

// ParseFlows reads a file of flows, as add-flows does: one a line, "#" begins a comment, and a line may start with
// "add", "modify", "modify_strict", "delete" or "delete_strict". An error names the line.
func ParseFlows(text string, n Names) ([]FlowMod, error) {
	mods := make([]FlowMod, 0, strings.Count(text, "\n")+1)
	err := eachLine(text, func(line string) error {
		cmd, rest := lineCommand(line)
		mods = mods[:len(mods)+1] // zero, as it comes from make
		return parseFlow(&mods[len(mods)-1], rest, n, cmd)
	})
	if err != nil {
		return nil, err
	}
	return mods, nil
}

// eachLine calls f for each line of text that holds more than white space and a comment.
func eachLine(text string, f func(line string) error) error {
	for no := 1; text != ""; no++ {
		line := text
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = ""
		}
		if i := strings.IndexByte(line, '#'); i >= 0 {
			line = line[:i]
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := f(line); err != nil {
			return fmt.Errorf("line %d: %w", no, err)
		}
	}
	return nil
}

// lineCommand takes the command off a line of a flow file. Like ovs-ofctl it takes any
// beginning of a command's name, the first one that fits.
func lineCommand(line string) (Command, string) {
	line = strings.TrimLeft(line, " \t\r\n")
	i := 0
	for i < len(line) && !isGap(line[i]) {
		i++
	}
	word := line[:i]
	for _, c := range [...]struct {
		name string
		cmd  Command
	}{{"add", Add}, {"delete", Delete}, {"delete_strict", DeleteStrict}, {"modify", Modify}, {"modify_strict", ModifyStrict}} {
		if word != "" && strings.HasPrefix(c.name, word) {
			return c.cmd, line[i:]
		}
	}
	return Add, line
}

func parseFlow(m *FlowMod, text string, n Names, cmd Command) error {
	m.Command = cmd
	m.OutPort, m.OutGroup = PortNone, GroupAny
	f := &m.Flow
	f.Priority = DefaultPriority
	if cmd != Add {
		f.Table = TableAll
	}
	filter := cmd == Delete || cmd == DeleteStrict
	actions := ""
	if !filter {
		var ok bool
		if text, actions, ok = cutActions(text); !ok {
			return fmt.Errorf("flow %q: there are no actions (\"actions=...\")", strings.TrimSpace(text))
		}
	}
	whole := text
	for {
		key, value, rest, ok := nextPair(text)
		if !ok {
			break
		}
		text = rest
		known, err := m.flowKey(key, value, n)
		if err == nil && !known {
			if strings.IndexByte(key, '[') >= 0 {
				err = addSubfield(&f.Match, key, value)
			} else {
				err = f.Match.Add(key, value, value != "", n)
			}
		}
		if err != nil {
			return err
		}
	}
	if err := f.Match.Check(whole); err != nil {
		return err
	}
	if filter {
		return nil
	}
	p := parser{names: n, l4: l4Proto(&f.Match)}
	if err := p.list(actions, true, ""); err != nil {
		return err
	}
	f.Actions = p.out
	return f.Check()
}

// cutActions divides a flow's text at "actions=" or whatever begins with "action" and goes on
// with "=", as ovs-ofctl does.
func cutActions(text string) (before, actions string, ok bool) {
	i := strings.Index(text, "action")
	if i < 0 {
		return text, "", false
	}
	j := strings.IndexByte(text[i:], '=')
	if j < 0 {
		return text, "", false
	}
	return text[:i], text[i+j+1:], true
}
