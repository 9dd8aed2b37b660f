package main

import (
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// parseFlow checks a flow and prints it as ovs-ofctl prints the message that it would send, without naming a version of OpenFlow, since any will do.
func parseFlow(c *flowCall) error {
	command := ofp.Add
	if c.opt.strict {
		command = ofp.ModifyStrict
	}
	m, err := ofp.ParseFlow(c.args[0], nil, command)
	if err != nil {
		return err
	}
	return c.print(flowModText(1, &m))
}

func parseFlows(c *flowCall) error {
	text, err := readInput(c.args[0])
	if err != nil {
		return err
	}
	mods, err := ofp.ParseFlows(text, nil)
	if err != nil {
		return atLine(inputName(c.args[0]), err)
	}
	for i := range mods {
		if err := c.print(flowModText(i+1, &mods[i])); err != nil {
			return err
		}
	}
	return nil
}

func parseActions(c *flowCall) error {
	actions, err := ofp.ParseActions(c.args[0], nil)
	if err != nil {
		return err
	}
	return c.print(string(ofp.AppendActions([]byte("actions="), actions, nil)) + "\n")
}

func parseGroup(c *flowCall) error {
	g, err := ofp.ParseGroup(c.args[0], nil)
	if err != nil {
		return err
	}
	return c.print("NXT_GROUP_MOD (xid=0x1):\n ADD " + strings.TrimSpace(string(g.Append(nil, nil))) + "\n")
}

// flowModText is a change of flows as ovs-ofctl prints the message for it.
func flowModText(xid int, m *ofp.FlowMod) string {
	f := &m.Flow
	b := fmt.Appendf(nil, "OFPT_FLOW_MOD (xid=0x%x): %s", xid, map[ofp.Command]string{
		ofp.Add: "ADD", ofp.Modify: "MOD", ofp.ModifyStrict: "MOD_STRICT", ofp.Delete: "DEL", ofp.DeleteStrict: "DEL_STRICT",
	}[m.Command])
	if f.Table != 0 {
		b = fmt.Appendf(b, " table:%d", f.Table)
	}
	if rule := f.AppendRule(nil, nil); len(rule) > 0 {
		b = append(append(b, ' '), rule...)
	}
	for _, item := range []struct {
		show   bool
		format string
		value  any
	}{
		{f.Cookie != 0, " cookie:0x%x", f.Cookie},
		{f.Idle != 0, " idle:%d", f.Idle},
		{f.Hard != 0, " hard:%d", f.Hard},
		{f.Importance != 0, " importance:%d", f.Importance},
		{m.OutPort != ofp.PortNone, " out_port:%s", string(flow.AppendPort(nil, m.OutPort, nil))},
		{m.OutGroup != ofp.GroupAny, " out_group:%d", m.OutGroup},
	} {
		if item.show {
			b = fmt.Appendf(b, item.format, item.value)
		}
	}
	for _, flag := range []struct {
		bit  uint16
		name string
	}{
		{ofp.SendFlowRem, "send_flow_rem"},
		{ofp.CheckOverlap, "check_overlap"},
		{ofp.ResetCounts, "reset_counts"},
		{ofp.NoPktCounts, "no_packet_counts"},
		{ofp.NoByteCounts, "no_byte_counts"},
	} {
		if f.Flags&flag.bit != 0 {
			b = append(append(b, ' '), flag.name...)
		}
	}
	if m.Command <= ofp.ModifyStrict {
		b = ofp.AppendActions(append(b, " actions="...), f.Actions, nil)
	}
	return string(append(b, '\n'))
}

// atLine turns the error "line 3: REASON" about a file into "FILE:3: REASON".
func atLine(file string, err error) error {
	if err == nil {
		return nil
	}
	if rest, ok := strings.CutPrefix(err.Error(), "line "); ok {
		return fmt.Errorf("%s:%s", file, rest)
	}
	return fmt.Errorf("%s: %w", file, err)
}
