package daemon

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// changes are the words for changes of flows, at the beginning of a line and in "ofctl/change-flows". "any" leaves it to each line.
var changes = map[string]ofp.Command{
	"add": ofp.Add, "modify": ofp.Modify, "modify_strict": ofp.ModifyStrict, "delete": ofp.Delete, "delete_strict": ofp.DeleteStrict,
}

// changeFlows adds, modifies and deletes flows. Without --bundle what comes before a flow that is refused is done, as with ovs-ofctl.
func (c *commands) changeFlows(call *textCall) (control.Result, error) {
	b, err := c.bridge(call.operands[0])
	if err != nil {
		return control.Result{}, err
	}
	source := optionValue(call.given, "--source=")
	mods, err := readFlows(call.text, source, call.operands[1], namesOf(b, true))
	if err != nil {
		return control.Result{}, err
	}
	for i := range mods {
		c.warnFlows(b, mods[i].Flow.Flags)
	}
	return control.Result{}, c.applyFlows(b, mods, call.text, source, slices.Contains(call.given, "--bundle"))
}

// readFlows reads the flows of a text: one if it has no source, else one a line.
func readFlows(text, source, change string, names ofp.Names) ([]ofp.FlowMod, error) {
	command, fixed := changes[change]
	switch {
	case change != "any" && !fixed:
		return nil, fmt.Errorf("unknown change %q", change)
	case source == "":
		m, err := ofp.ParseFlow(text, names, command)
		if err != nil {
			return nil, err
		}
		mods := []ofp.FlowMod{m}
		return mods, checkFlows(mods, text, source)
	case fixed:
		text = everyLine(text, change+" ")
	}
	mods, err := ofp.ParseFlows(text, names)
	if err != nil {
		return nil, atLine(source, err)
	}
	return mods, checkFlows(mods, text, source)
}

// everyLine puts a word before each line that is not empty.
func everyLine(text, word string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !emptyLine(line) {
			b.WriteString(word)
		}
		b.WriteString(line)
	}
	return b.String()
}

// emptyLine reports whether there is nothing but a comment in a line.
func emptyLine(line string) bool {
	line, _, _ = strings.Cut(line, "#")
	return strings.TrimSpace(line) == ""
}

// atLine turns the error "line 3: REASON" about a source into "SOURCE:3: REASON".
func atLine(source string, err error) error {
	if rest, ok := strings.CutPrefix(err.Error(), "line "); ok {
		return fmt.Errorf("%s:%s", source, rest)
	}
	return fmt.Errorf("%s: %w", source, err)
}

// place is where in a text the flow with an index is, for errors: "SOURCE:LINE: ", or nothing if the text is the one flow.
func place(text, source string, index int) string {
	if source == "" {
		return ""
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if emptyLine(line) {
			continue
		}
		if index == 0 {
			return fmt.Sprintf("%s:%d: ", source, number)
		}
		index--
	}
	return source + ": "
}

// checkFlows refuses what can be said but not done in this version.
func checkFlows(mods []ofp.FlowMod, text, source string) error {
	for i := range mods {
		if why := refusedAction(mods[i].Flow.Actions); why != "" {
			return fmt.Errorf("%s%s", place(text, source, i), why)
		}
	}
	return nil
}

// refusedAction says why actions cannot be done, "" if they can.
func refusedAction(actions []ofp.Action) string {
	for _, a := range actions {
		why := ""
		switch a := a.(type) {
		case ofp.CT:
			why = fmt.Sprintf("action ct(%s): there is no connection tracking in this version", a.Text)
		case ofp.Clone:
			why = refusedAction(a.Actions)
		case ofp.WriteActions:
			why = refusedAction(a.Actions)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// warnFlows says once what is taken and has no effect.
func (c *commands) warnFlows(b *reconcile.BridgeEntry, flags uint16) {
	if flags&ofp.SendFlowRem != 0 {
		c.saidFlowRem.Do(func() {
			c.log.Module("bridge").Warn("send_flow_rem has no effect: there is no controller to be told of removed flows", "bridge", b.Name)
		})
	}
}

// applyFlows makes changes, all at once; if one is refused, none, or without all those before it.
func (c *commands) applyFlows(b *reconcile.BridgeEntry, mods []ofp.FlowMod, text, source string, all bool) error {
	if len(mods) == 0 {
		return nil
	}
	t, options := b.DP.Tables(), rules.Options{Now: c.dp.Now()}
	_, err := t.Apply(mods, options)
	var refused *rules.Error
	if !errors.As(err, &refused) {
		c.flowsChanged(b, err)
		return err
	}
	if n := refused.Index; !all && n > 0 && n < len(mods) {
		_, before := t.Apply(mods[:n], options)
		c.flowsChanged(b, before)
		if before != nil {
			return fmt.Errorf("%s%w", place(text, source, 0), before)
		}
	}
	return fmt.Errorf("%s%s", place(text, source, refused.Index), refused.Text)
}

// flowsChanged has the bridge's flow file written, if it has one and err is nil.
func (c *commands) flowsChanged(b *reconcile.BridgeEntry, err error) {
	if err == nil && c.flowFiles != nil {
		c.flowFiles.Changed(b.DP)
	}
}

// refusedAt says where in a text the flow is that was refused.
func refusedAt(text, source string, err error) error {
	var refused *rules.Error
	if errors.As(err, &refused) {
		return fmt.Errorf("%s%s", place(text, source, refused.Index), refused.Text)
	}
	return err
}

// readFlowsToAdd reads a file of which every line is a flow to add.
func readFlowsToAdd(text, source string, names ofp.Names) ([]ofp.Flow, error) {
	mods, err := readFlows(text, source, "any", names)
	if err != nil {
		return nil, err
	}
	flows := make([]ofp.Flow, len(mods))
	for i := range mods {
		if mods[i].Command != ofp.Add {
			return nil, fmt.Errorf("%sthe flow is not one to add", place(text, source, i))
		}
		flows[i] = mods[i].Flow
	}
	return flows, nil
}

// replaceFlows makes a bridge's flows those of a text, in one step. A flow that is in both stays, with its counters, unless --readd is given.
func (c *commands) replaceFlows(call *textCall) (control.Result, error) {
	b, err := c.bridge(call.operands[0])
	if err != nil {
		return control.Result{}, err
	}
	source := optionValue(call.given, "--source=")
	if source == "" {
		source = "flows"
	}
	flows, err := readFlowsToAdd(call.text, source, namesOf(b, true))
	if err != nil {
		return control.Result{}, err
	}
	for i := range flows {
		c.warnFlows(b, flows[i].Flags)
	}
	t, options := b.DP.Tables(), rules.Options{Now: c.dp.Now()}
	if !slices.Contains(call.given, "--readd") {
		_, err = t.Replace(flows, options)
		c.flowsChanged(b, err)
		return control.Result{}, refusedAt(call.text, source, err)
	}
	mods := make([]ofp.FlowMod, 1, len(flows)+1)
	mods[0] = ofp.FlowMod{Command: ofp.Delete, Flow: ofp.Flow{Table: ofp.TableAll}, OutPort: ofp.PortNone, OutGroup: ofp.GroupAny}
	for _, f := range flows {
		mods = append(mods, ofp.FlowMod{Flow: f, OutPort: ofp.PortNone, OutGroup: ofp.GroupAny})
	}
	_, err = t.Apply(mods, options)
	c.flowsChanged(b, err)
	var refused *rules.Error
	if errors.As(err, &refused) {
		return control.Result{}, fmt.Errorf("%s%s", place(call.text, source, refused.Index-1), refused.Text)
	}
	return control.Result{}, err
}
