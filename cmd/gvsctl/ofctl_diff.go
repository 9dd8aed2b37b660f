package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// diffFlows compares two sources, each a file or a bridge. Status 2 says that they differ.
func diffFlows(c *flowCall) error {
	left, right := c.isFile(c.args[0]), c.isFile(c.args[1])
	// Names in a file are those of the bridge that it is compared with.
	var names ofp.Names
	for i, file := range []bool{left, right} {
		if !file && names == nil {
			n, err := c.bridgeNames(bridgeName(c.args[i]))
			if err != nil {
				return err
			}
			names = n
		}
	}
	a, err := c.flowsOf(c.args[0], left, names)
	if err != nil {
		return err
	}
	b, err := c.flowsOf(c.args[1], right, names)
	if err != nil {
		return err
	}
	if c.names() == nil {
		names = nil
	}
	text := difference(a, b, names)
	if text == "" {
		return nil
	}
	if err := c.print(text); err != nil {
		return err
	}
	return &exitError{status: 2}
}

// isFile tells files from bridges, as ovs-ofctl does.
func (c *flowCall) isFile(name string) bool {
	switch {
	case strings.HasPrefix(name, "/") && !strings.HasSuffix(name, ".mgmt"), strings.HasPrefix(name, "."):
		return true
	case strings.Contains(name, ":"):
		return false
	default:
		_, err := os.Stat(name)
		return err == nil && !strings.HasSuffix(name, ".mgmt")
	}
}

// flowsOf reads the flows of a source.
func (c *flowCall) flowsOf(name string, file bool, names ofp.Names) (mods []ofp.FlowMod, err error) {
	var text string
	source := "flows of " + name
	if file {
		source = inputName(name)
		text, err = readInput(name)
	} else {
		text, err = c.ask("ofctl/dump-flows", "--no-stats", bridgeName(name))
	}
	if err != nil {
		return nil, err
	}
	if mods, err = ofp.ParseFlows(text, names); err != nil {
		return nil, atLine(source, err)
	}
	for i := range mods {
		if mods[i].Command != ofp.Add {
			return nil, fmt.Errorf("%s: flow %d is not one to add", source, i+1)
		}
	}
	return mods, nil
}

// difference is what is in a alone, with "-" before it, and what is in b alone, with "+", a line each; in order of table and priority.
func difference(a, b []ofp.FlowMod, names ofp.Names) string {
	type pair struct {
		key        string
		table      uint8
		priority   uint16
		left       *ofp.Flow
		right      *ofp.Flow
		textL, txt string
	}
	all := map[string]*pair{}
	add := func(f *ofp.Flow, right bool) {
		key, text := flowKey(f, names), flowVersion(f, names)
		p := all[key]
		if p == nil {
			p = &pair{key: key, table: f.Table, priority: f.Priority}
			all[key] = p
		}
		if right {
			p.right, p.txt = f, text
		} else {
			p.left, p.textL = f, text
		}
	}
	for i := range a {
		add(&a[i].Flow, false)
	}
	for i := range b {
		add(&b[i].Flow, true)
	}
	var order []*pair
	for _, p := range all {
		if p.left == nil || p.right == nil || p.textL != p.txt {
			order = append(order, p)
		}
	}
	slices.SortFunc(order, func(x, y *pair) int {
		return cmp.Or(cmp.Compare(x.table, y.table), cmp.Compare(y.priority, x.priority), cmp.Compare(x.key, y.key))
	})
	var out strings.Builder
	for _, p := range order {
		if p.left != nil {
			fmt.Fprintf(&out, "-%s%s\n", p.key, p.textL)
		}
		if p.right != nil {
			fmt.Fprintf(&out, "+%s%s\n", p.key, p.txt)
		}
	}
	return out.String()
}

// flowKey is what makes a flow another one: its table, priority and match.
func flowKey(f *ofp.Flow, names ofp.Names) string {
	var b []byte
	if f.Table != 0 {
		b = fmt.Appendf(b, "table=%d ", f.Table)
	}
	return string(f.AppendRule(b, names))
}

// flowVersion is the rest of a flow.
func flowVersion(f *ofp.Flow, names ofp.Names) string {
	var b []byte
	if f.Cookie != 0 {
		b = fmt.Appendf(b, " cookie=0x%x", f.Cookie)
	}
	if f.Idle != 0 {
		b = fmt.Appendf(b, " idle_timeout=%d", f.Idle)
	}
	if f.Hard != 0 {
		b = fmt.Appendf(b, " hard_timeout=%d", f.Hard)
	}
	if f.Importance != 0 {
		b = fmt.Appendf(b, " importance=%d", f.Importance)
	}
	return string(ofp.AppendActions(append(b, " actions="...), f.Actions, names))
}

// bridgeNames are the names of a bridge's ports and tables.
type bridgeNames struct {
	Ports  map[string]uint32 `json:"ports"`
	Tables map[string]uint8  `json:"tables"`

	portName  map[uint32]string
	tableName map[uint8]string
}

// bridgeNames asks gvswitchd for them.
func (c *flowCall) bridgeNames(bridge string) (*bridgeNames, error) {
	text, err := c.ask("ofctl/names", bridge)
	if err != nil {
		return nil, err
	}
	n := &bridgeNames{portName: map[uint32]string{}, tableName: map[uint8]string{}}
	if err := json.Unmarshal([]byte(text), n); err != nil {
		return nil, fmt.Errorf("names of bridge %s: %w", bridge, err)
	}
	for name, v := range n.Ports {
		n.portName[v] = name
	}
	for name, v := range n.Tables {
		n.tableName[v] = name
	}
	return n, nil
}

// PortNumber implements ofp.Names.
func (n *bridgeNames) PortNumber(name string) (uint32, bool) { v, ok := n.Ports[name]; return v, ok }

// PortName implements ofp.Names.
func (n *bridgeNames) PortName(v uint32) string { return n.portName[v] }

// TableNumber implements ofp.Names.
func (n *bridgeNames) TableNumber(name string) (uint8, bool) { v, ok := n.Tables[name]; return v, ok }

// TableName implements ofp.Names.
func (n *bridgeNames) TableName(v uint8) string { return n.tableName[v] }
