package rules

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// Apply applies flow mods in their order, all or none, in one version step. An error is an *Error.
// Up to 32 adds without overlap check, and strict changes, are a small change in the sense of the
// package comment. The mods are not kept, their actions are.
//
// A modification that finds no flow adds it, unless it is asked for by cookie. It changes
// the cookie of what it finds if Flow.Cookie is neither 0 nor all ones.
func (t *Tables) Apply(mods []ofp.FlowMod, o Options) (Changed, error) {
	ops, small, err := t.compile(len(mods), func(i int) *ofp.FlowMod { return &mods[i] }, &o)
	if err != nil {
		return Changed{}, err
	}
	return t.run(ops, small, o, nil)
}

// Replace makes flows the content of all tables, in one version step. A flow that is there
// already, equal in all respects, keeps its counters. An error is an *Error.
func (t *Tables) Replace(flows []ofp.Flow, o Options) (Changed, error) {
	var mod ofp.FlowMod
	ops, _, err := t.compile(len(flows), func(i int) *ofp.FlowMod {
		mod.Flow = flows[i]
		return &mod
	}, &o)
	if err != nil {
		return Changed{}, err
	}
	for i := range ops {
		ops[i].keep = true
	}
	return t.run(ops, false, o, &op{
		cmd: ofp.Delete, outPort: ofp.PortNone, outGroup: ofp.GroupAny,
		rule: newRule(&ofp.Flow{Table: ofp.TableAll}, t.maskOf(&flow.Key{}), 0),
	})
}

// run does what compile made ready. rest, if not nil, removes in the end what is neither new
// nor kept.
func (t *Tables) run(ops []op, small bool, o Options, rest *op) (ch Changed, err error) {
	var e *Error
	if small {
		ch, e = t.small(ops, o)
	} else {
		ch, e = t.large(ops, o, rest)
	}
	if e != nil {
		return Changed{}, e
	}
	if !o.Learn { // else a poll thread waited for big changes; Expire does it soon
		t.unlearn(&ch, o)
	}
	return ch, nil
}

// deleteUsers deletes the flows that use a group and a meter; GroupAny and 0: any or none.
func (t *Tables) deleteUsers(group, meter uint32, now int64) (Changed, error) {
	return t.run([]op{{
		cmd: ofp.Delete, outPort: ofp.PortNone, outGroup: group, meter: meter,
		rule: newRule(&ofp.Flow{Table: ofp.TableAll}, t.maskOf(&flow.Key{}), 0),
	}}, false, Options{Now: now}, nil)
}

// small does a small change under one lock.
func (t *Tables) small(ops []op, o Options) (Changed, *Error) {
	t.lockSmall()
	defer t.mu.Unlock()
	x := txn{Tables: t, o: o, v: t.Version() + 1}
	for i := range ops {
		if err := x.one(&ops[i]); err != nil {
			for x.undo(len(ops)) {
			}
			err.Index = i
			return Changed{}, err
		}
	}
	x.finish()
	t.reclaimPiece()
	return x.ch, nil
}

// finish publishes a small change and settles what went. Preconditions: mu.
func (x *txn) finish() {
	if len(x.added)+len(x.gone) == 0 {
		x.ch.Version = x.Version()
		return
	}
	x.publish()
	rules := make([]*Rule, 0, len(x.gone))
	for _, g := range x.gone {
		x.went(g.r, true)
		rules = append(rules, g.r)
	}
	x.bury(rules, x.v)
}

// unlearn removes the flows whose last teacher with delete_learned went, in a version of its own.
func (t *Tables) unlearn(ch *Changed, o Options) {
	for {
		t.lockSmall()
		orphans := t.orphans
		t.orphans = nil
		t.mu.Unlock()
		if len(orphans) == 0 {
			return
		}
		ops := make([]op, len(orphans))
		for i, c := range orphans {
			ops[i] = op{
				cmd: ofp.Delete, cookieMask: ^uint64(0), outPort: ofp.PortNone, outGroup: ofp.GroupAny,
				rule: newRule(&ofp.Flow{Table: c.table, Cookie: c.cookie}, t.maskOf(&flow.Key{}), 0),
			}
		}
		d, _ := t.large(ops, o, nil) // deletions are not refused
		ch.merge(d)
	}
}
