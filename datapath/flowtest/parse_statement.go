package flowtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// commands are those of ovs-ofctl that a case may use, and link.
var commands = []string{
	"add-flow", "mod-flows", "del-flows", "add-group", "mod-group", "del-groups", "insert-buckets", "remove-buckets",
	"add-meter", "mod-meter", "del-meters", "mod-port", "link", "mirror",
}

// statement reads one that is not indented.
func (p *parser) statement(l logical, word, rest string) error {
	s := Step{Line: l.number, Bridge: p.bridge, First: l.last + 1, Last: l.last, Packets: -1, Bytes: -1}
	var err error
	switch word {
	case "bridge":
		return p.addBridge(rest)
	case "port":
		return p.addPort(rest)
	case "not":
		who, why, _ := strings.Cut(rest, " ")
		if who != "ovs" || why == "" {
			return fmt.Errorf("not %s: must be \"not ovs\" and a reason", rest)
		}
		p.c.NotOVS = why
		return nil
	case "refuse":
		s.Refused = true
		name, text, _ := strings.Cut(rest, " ")
		s.Command, err = command(name, text)
	case "send", "batch":
		s.Kind = KindSend
		at, frame, _ := strings.Cut(rest, " ")
		if s.Port, err = parsePort(at); err != nil {
			break
		}
		if word == "batch" {
			if frame != "" {
				return fmt.Errorf("batch %s: the frames come below it", rest)
			}
			break
		}
		var f Frame
		f, err = ParseFrame(frame)
		s.Frames = []Frame{f}
	case "flows":
		s.Kind, s.Filter = KindFlows, rest
	case "macs":
		s.Kind = KindMACs
	case "flush":
		s.Kind = KindFlush
	case "count":
		s.Kind = KindCount
		err = s.count(rest)
	case "wait":
		s.Kind = KindWait
		if s.Seconds, err = strconv.Atoi(rest); err != nil {
			err = fmt.Errorf("wait %s: not a number of seconds", rest)
		}
	default:
		s.Command, err = command(word, rest)
	}
	if err != nil {
		return err
	}
	p.c.Steps = append(p.c.Steps, s)
	p.step = &p.c.Steps[len(p.c.Steps)-1]
	return nil
}

func command(name, text string) (Command, error) {
	c := Command{Name: name, Text: strings.TrimSpace(text)}
	if !slices.Contains(commands, name) {
		return c, fmt.Errorf("%s: no such statement", name)
	}
	if t, ok := strings.CutPrefix(c.Text, "--strict"); ok {
		c.Strict, c.Text = true, strings.TrimSpace(t)
	}
	return c, nil
}

// options reads KEY=VALUE words.
func options(words []string) (map[string]string, error) {
	m := map[string]string{}
	for _, w := range words {
		k, v, ok := strings.Cut(w, "=")
		if !ok {
			return nil, fmt.Errorf("%s: not KEY=VALUE", w)
		}
		m[k] = v
	}
	return m, nil
}

func (p *parser) addBridge(rest string) error {
	words := strings.Fields(rest)
	if len(words) == 0 {
		return fmt.Errorf("bridge: no name")
	}
	o, err := options(words[1:])
	if err != nil {
		return err
	}
	p.bridge = words[0]
	for i := range p.c.Bridges {
		if b := &p.c.Bridges[i]; b.Name == p.bridge {
			if len(o) > 0 {
				b.Options = o
			}
			return nil
		}
	}
	p.c.Bridges = append(p.c.Bridges, Bridge{Name: p.bridge, Options: o})
	return nil
}

func (p *parser) addPort(rest string) error {
	words := strings.Fields(rest)
	if len(words) == 0 {
		return fmt.Errorf("port: no number")
	}
	n, err := strconv.Atoi(words[0])
	if err != nil {
		return fmt.Errorf("port %s: not a number", words[0])
	}
	o, err := options(words[1:])
	if err != nil {
		return err
	}
	for i := range p.c.Bridges {
		if b := &p.c.Bridges[i]; b.Name == p.bridge {
			b.Ports = append(b.Ports, Port{n, o})
		}
	}
	return nil
}

// count reads "FILTER = N packets, N bytes".
func (s *Step) count(text string) error {
	at := strings.LastIndex(text, " = ")
	if at < 0 {
		return fmt.Errorf("count %s: not FILTER = N packets", text)
	}
	s.Filter = strings.TrimSpace(text[:at])
	if s.Filter == "all" {
		s.Filter = ""
	}
	for part := range strings.SplitSeq(text[at+3:], ",") {
		number, unit, _ := strings.Cut(strings.TrimSpace(part), " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			return fmt.Errorf("count %s: %q is not a number", text, number)
		}
		switch strings.TrimSuffix(unit, "s") {
		case "packet":
			s.Packets = n
		case "byte":
			s.Bytes = n
		default:
			return fmt.Errorf("count %s: %q: must be packets or bytes", text, unit)
		}
	}
	return nil
}

// indented reads a line that belongs to the statement above it.
func (p *parser) indented(l logical, text, word, rest string) error {
	s := p.step
	if s == nil {
		return fmt.Errorf("%s: belongs to no statement", text)
	}
	switch {
	case s.Kind == KindFlows || s.Kind == KindMACs:
		s.Lines = append(s.Lines, text)
	case s.Kind == KindCommand && s.Refused && word == "because":
		s.Because = rest
	case s.Kind == KindSend && word == "+":
		f, err := ParseFrame(rest)
		if err != nil {
			return err
		}
		s.Frames = append(s.Frames, f)
		s.First, s.Last = l.last+1, l.last
		return nil
	case s.Kind == KindSend:
		e, err := s.expect(text, word, rest)
		if err != nil {
			return err
		}
		e.Line = l.number
		s.Expect = append(s.Expect, e)
		if s.Last < s.First {
			s.First = l.number
		}
	default:
		return fmt.Errorf("%s: nothing may be said there", text)
	}
	s.Last = l.last
	return nil
}

// expectations are those that a word begins; any other one is of frames.
var expectations = map[string]ExpectKind{
	"drop": ExpectDrop, "looks": ExpectLooks, "ignores": ExpectIgnores, "megaflow": ExpectMegaflow, "actions": ExpectActions,
}

// expect reads an expectation of a step.
func (s *Step) expect(text, word, rest string) (Expect, error) {
	e := Expect{Text: text}
	if kind, ok := expectations[word]; ok {
		e.Kind, e.Text = kind, rest
		return e, nil
	}
	ports, ok := strings.CutSuffix(word, ":")
	if !ok {
		return e, fmt.Errorf("%s: not PORT: FRAME, nor drop, looks, ignores, megaflow, actions", text)
	}
	for t := range strings.SplitSeq(ports, "|") {
		r, err := parsePort(t)
		if err != nil {
			return e, err
		}
		e.Ports = append(e.Ports, r)
	}
	if len(s.Frames) == 0 {
		return e, fmt.Errorf("%s: there is no frame yet", text)
	}
	base := s.Frames[0]
	if number, more, _ := strings.Cut(rest, " "); strings.HasPrefix(number, "#") {
		n, err := strconv.Atoi(number[1:])
		if err != nil || n < 1 || n > len(s.Frames) {
			return e, fmt.Errorf("%s: %s is none of the %d frames", text, number, len(s.Frames))
		}
		base, rest = s.Frames[n-1], strings.TrimSpace(more)
	}
	var err error
	e.Bytes, err = base.change(rest)
	return e, err
}
