package rules

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// op is a flow mod made ready: what can be done without a lock has been done.
type op struct {
	rule       *Rule // what to add, or the filter
	cookieMask uint64
	outPort    uint32
	outGroup   uint32
	meter      uint32 // 0: any
	cmd        ofp.Command
	keep       bool  // of Replace: an equal rule stays
	kept       *Rule // which is this one
	used       bool  // rule is in a table
}

// compile makes flow mods ready and says whether they are a small change.
func (t *Tables) compile(n int, mod func(int) *ofp.FlowMod, o *Options) (ops []op, small bool, err *Error) {
	ops = make([]op, n)
	small = n <= maxSmall
	var full flow.Key
	m := t.maskOf(&full)
	for i := range ops {
		f := mod(i)
		if full != f.Flow.Match.Mask {
			full = f.Flow.Match.Mask
			m = t.maskOf(&full)
		}
		x := &ops[i]
		*x = op{cmd: f.Command, cookieMask: f.CookieMask, outPort: f.OutPort, outGroup: f.OutGroup}
		x.rule = newRule(&f.Flow, m, o.Now)
		switch f.Command {
		case ofp.Add:
			x.outPort, x.outGroup, x.cookieMask = ofp.PortNone, ofp.GroupAny, 0
			if f.Flow.Table == ofp.TableAll {
				x.rule.Table = 0
			}
		case ofp.Modify, ofp.ModifyStrict:
			x.outPort, x.outGroup = ofp.PortNone, ofp.GroupAny
		}
		if f.Command == ofp.Add || f.Command == ofp.Modify || f.Command == ofp.ModifyStrict {
			if err = t.check(f.Flow.Actions, false); err != nil {
				err.Index = i
				return nil, false, err
			}
		}
		if !x.strict() || x.rule.Flags&ofp.CheckOverlap != 0 {
			small = false
		}
	}
	return ops, small, nil
}

// check refuses actions that cannot work in these tables. What a bucket names may come later, as with Open vSwitch.
func (t *Tables) check(actions []ofp.Action, bucket bool) (err *Error) {
	walk(actions, func(a ofp.Action) bool {
		switch a := a.(type) {
		case ofp.Group:
			if !bucket && t.Group(a.ID) == nil {
				err = refuse(UnknownGroup, "group %d does not exist", a.ID)
			}
		case ofp.Meter:
			if !bucket && t.Meter(a.ID) == nil {
				err = refuse(UnknownMeter, "meter %d does not exist", a.ID)
			}
		case ofp.Conjunction:
			if a.N < 2 || a.N > 64 || a.Clause >= a.N {
				err = refuse(BadActions, "conjunction(%d,%d/%d): dimensions are 1 to n, n is 2 to 64",
					a.ID, int(a.Clause)+1, a.N)
			}
		case ofp.GotoTable:
			if a.Table >= ofp.MaxTables {
				err = refuse(BadTable, "goto_table:%d: the last table is %d", a.Table, ofp.MaxTables-1)
			}
		}
		return err == nil
	})
	return err
}

// strict tells whether the op is about one rule only.
func (x *op) strict() bool {
	return x.cmd == ofp.Add ||
		(x.cmd == ofp.ModifyStrict || x.cmd == ofp.DeleteStrict) && x.rule.Table != ofp.TableAll
}

func (x *op) isModify() bool { return x.cmd == ofp.Modify || x.cmd == ofp.ModifyStrict }

// means tells whether the filter means r: cookie, output and table.
func (x *op) means(r *Rule) bool {
	return (x.rule.Table == r.Table || x.rule.Table == ofp.TableAll) &&
		(r.Cookie^x.rule.Cookie)&x.cookieMask == 0 &&
		(x.outPort == ofp.PortNone || outputs(r.Actions, x.outPort)) &&
		(x.outGroup == ofp.GroupAny || usesGroup(r.Actions, x.outGroup)) &&
		(x.meter == 0 || usesMeter(r.Actions, x.meter))
}

// selects is means, and r's match is as specific as x's, or the same with the
// same priority.
func (x *op) selects(r *Rule) bool {
	switch x.cmd {
	case ofp.Add, ofp.ModifyStrict, ofp.DeleteStrict:
		return x.means(r) && x.rule.same(r)
	}
	return x.means(r) && x.rule.covers(r)
}

// covers tells whether all that o matches is matched by r, looking at their masks and
// values alone.
func (r *Rule) covers(o *Rule) bool {
	j := 0
	for i, w := range r.mask.words {
		for j < len(o.mask.words) && o.mask.words[j].i != w.i {
			j++
		}
		if j == len(o.mask.words) || w.bits&^o.mask.words[j].bits != 0 || (r.vals[i]^o.vals[j])&w.bits != 0 {
			return false
		}
	}
	return true
}

// overlaps tells whether there is a packet that both match.
func (r *Rule) overlaps(o *Rule) bool {
	for i, w := range r.mask.words {
		for j, x := range o.mask.words {
			if w.i == x.i && (r.vals[i]^o.vals[j])&w.bits&x.bits != 0 {
				return false
			}
		}
	}
	return true
}
