package daemon

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// groupChanges are the words for changes of groups. "any" leaves it to each line of a file.
var groupChanges = map[string]ofp.GroupCommand{
	"any": ofp.GroupAdd, "add": ofp.GroupAdd, "modify": ofp.GroupModify, "add_or_mod": ofp.GroupAddOrModify, "delete": ofp.GroupDelete,
	"insert_bucket": ofp.GroupInsertBuckets, "remove_bucket": ofp.GroupRemoveBuckets,
}

// groupCommands say how the tables call them.
var groupCommands = map[ofp.GroupCommand]rules.GroupCommand{
	ofp.GroupAdd: rules.GroupAdd, ofp.GroupModify: rules.GroupModify, ofp.GroupAddOrModify: rules.GroupAddOrModify, ofp.GroupDelete: rules.GroupDelete,
	ofp.GroupInsertBuckets: rules.GroupInsertBuckets, ofp.GroupRemoveBuckets: rules.GroupRemoveBuckets,
}

// changeGroups changes groups one after the other, as ovs-ofctl does; it ends at the first that is refused.
func (c *commands) changeGroups(call *textCall) (control.Result, error) {
	b, err := c.bridge(call.operands[0])
	if err != nil {
		return control.Result{}, err
	}
	command, known := groupChanges[call.operands[1]]
	if !known {
		return control.Result{}, fmt.Errorf("unknown change %q", call.operands[1])
	}
	source := optionValue(call.given, "--source=")
	mods, err := readGroups(call.text, source, command, namesOf(b, true))
	if err != nil {
		return control.Result{}, err
	}
	if slices.Contains(call.given, "--bundle") {
		return control.Result{}, c.bundleGroups(b, mods, call.text, source)
	}
	for i := range mods {
		if err := c.applyGroup(b, &mods[i]); err != nil {
			return control.Result{}, fmt.Errorf("%s%w", place(call.text, source, i), err)
		}
		c.flowsChanged(b, nil)
	}
	return control.Result{}, nil
}

// readGroups reads the groups of a text: one if it has no source, else one a line.
func readGroups(text, source string, command ofp.GroupCommand, names ofp.Names) ([]ofp.GroupMod, error) {
	var mods []ofp.GroupMod
	var err error
	if source == "" {
		mods = make([]ofp.GroupMod, 1)
		mods[0], err = ofp.ParseGroupMod(text, names, command)
	} else if mods, err = ofp.ParseGroups(text, names, command); err != nil {
		err = atLine(source, err)
	}
	if err != nil {
		return nil, err
	}
	for i := range mods {
		for _, bucket := range mods[i].Def.Buckets {
			if why := refusedAction(bucket.Actions); why != "" {
				return nil, fmt.Errorf("%s%s", place(text, source, i), why)
			}
		}
	}
	return mods, nil
}

// bundleGroups changes all groups or none.
func (c *commands) bundleGroups(b *reconcile.BridgeEntry, mods []ofp.GroupMod, text, source string) error {
	list := make([]rules.GroupChange, len(mods))
	for i := range mods {
		list[i] = groupChange(&mods[i])
	}
	_, err := b.DP.Tables().ApplyGroups(list, c.dp.Now())
	var refused *rules.Error
	if errors.As(err, &refused) {
		return fmt.Errorf("%s%w", place(text, source, refused.Index), plain(err))
	}
	c.flowsChanged(b, nil)
	return err
}

func groupChange(m *ofp.GroupMod) rules.GroupChange {
	def := m.Def
	if m.Command == ofp.GroupDelete && def.ID == ofp.GroupAny {
		def.ID = rules.GroupAll
	}
	return rules.GroupChange{Command: groupCommands[m.Command], Def: &def, Where: m.CommandBucket}
}

func (c *commands) applyGroup(b *reconcile.BridgeEntry, m *ofp.GroupMod) error {
	g := groupChange(m)
	_, err := b.DP.Tables().ApplyGroup(g.Command, g.Def, g.Where, c.dp.Now())
	return plain(err)
}

// plain is a refusal without the number of the flow, which a change of groups or meters does not have.
func plain(err error) error {
	if refused, ok := err.(*rules.Error); ok {
		return fmt.Errorf("%s", refused.Text)
	}
	return err
}

// groups returns one group or all.
func (c *commands) groups(b *reconcile.BridgeEntry, text string) ([]*rules.Group, error) {
	all := b.DP.Tables().Groups()
	text = strings.TrimPrefix(text, "group_id=")
	if text == "" || strings.EqualFold(text, "all") || strings.EqualFold(text, "any") {
		return all, nil
	}
	id, err := strconv.ParseUint(text, 0, 32)
	if err != nil {
		return nil, fmt.Errorf("group %q: neither a number nor \"all\"", text)
	}
	return slices.DeleteFunc(slices.Clone(all), func(g *rules.Group) bool { return uint64(g.Def.ID) != id }), nil
}

func (c *commands) dumpGroups(args []string) (control.Result, error) {
	given, args, err := splitOptions("ofctl/dump-groups", args, "--names")
	if err != nil {
		return control.Result{}, err
	}
	if len(args) < 1 || len(args) > 2 {
		return control.Result{}, fmt.Errorf("ofctl/dump-groups: takes a bridge and perhaps a group")
	}
	b, err := c.bridge(args[0])
	if err != nil {
		return control.Result{}, err
	}
	groups, err := c.groups(b, operand(args, 1))
	if err != nil {
		return control.Result{}, err
	}
	names := namesOf(b, len(given) > 0)
	var out []byte
	values := []string{}
	for _, g := range groups {
		start := len(out)
		out = g.Def.Append(out, names)
		values = append(values, strings.TrimSpace(string(out[start:])))
		out = append(out, '\n')
	}
	return control.Result{Text: string(out), Value: values}, nil
}

// groupCounters are a group's counters for programs.
type groupCounters struct {
	Group    uint32         `json:"group_id"`
	Duration float64        `json:"duration"` // seconds
	RefCount int            `json:"ref_count"`
	Packets  uint64         `json:"packet_count"`
	Bytes    uint64         `json:"byte_count"`
	Buckets  []bucketCounts `json:"buckets"`
}

type bucketCounts struct {
	Packets uint64 `json:"packet_count"`
	Bytes   uint64 `json:"byte_count"`
}

func (c *commands) dumpGroupStats(args []string) (control.Result, error) {
	b, err := c.bridge(args[0])
	if err != nil {
		return control.Result{}, err
	}
	groups, err := c.groups(b, operand(args, 1))
	if err != nil {
		return control.Result{}, err
	}
	b.DP.SyncFlowStats()
	used, _ := references(b.DP.Tables())
	now := c.dp.Now()
	var out strings.Builder
	values := []groupCounters{}
	for _, g := range groups {
		packets, bytes := g.Counts()
		v := groupCounters{g.Def.ID, float64(max(now-g.Created, 0)) / 1000, used[g.Def.ID], packets, bytes, []bucketCounts{}}
		fmt.Fprintf(&out, " group_id=%d,duration=%gs,ref_count=%d,packet_count=%d,byte_count=%d", v.Group, v.Duration, v.RefCount, packets, bytes)
		for i, k := range g.Buckets {
			packets, bytes := k.Counts()
			fmt.Fprintf(&out, ",bucket%d:packet_count=%d,byte_count=%d", i, packets, bytes)
			v.Buckets = append(v.Buckets, bucketCounts{packets, bytes})
		}
		out.WriteByte('\n')
		values = append(values, v)
	}
	return control.Result{Text: out.String(), Value: values}, nil
}

// references counts the flows that name each group and each meter.
func references(t *rules.Tables) (groups, meters map[uint32]int) {
	groups, meters = map[uint32]int{}, map[uint32]int{}
	for _, r := range t.Flows(nil) {
		eachAction(r.Actions, func(a ofp.Action) {
			switch a := a.(type) {
			case ofp.Group:
				groups[a.ID]++
			case ofp.Meter:
				meters[a.ID]++
			}
		})
	}
	return groups, meters
}

// eachAction calls f for actions and those in them.
func eachAction(actions []ofp.Action, f func(ofp.Action)) {
	for _, a := range actions {
		f(a)
		switch a := a.(type) {
		case ofp.Clone:
			eachAction(a.Actions, f)
		case ofp.WriteActions:
			eachAction(a.Actions, f)
		}
	}
}

// groupActions is how ovs-ofctl lists the actions of OpenFlow 1.0.
const groupActions = "output enqueue set_vlan_vid set_vlan_pcp strip_vlan mod_dl_src mod_dl_dst mod_nw_src mod_nw_dst mod_nw_tos mod_tp_src mod_tp_dst"

func (c *commands) dumpGroupFeatures(args []string) (control.Result, error) {
	if _, err := c.bridge(args[0]); err != nil {
		return control.Result{}, err
	}
	var out strings.Builder
	out.WriteString(" Group table:\n    Types:  0xf\n    Capabilities:  0x7\n")
	for _, kind := range []string{"all", "select", "indirect", "fast failover"} {
		fmt.Fprintf(&out, "    %s group:\n       max_groups=%#x\n       actions: %s\n", kind, ofp.GroupMax, groupActions)
	}
	return control.Result{Text: out.String()}, nil
}
