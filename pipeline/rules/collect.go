package rules

import (
	"cmp"
	"slices"

	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// subtables are those of a table, also if no lookup knows them yet.
func (t *Tables) subtables(table uint8) []*subtable {
	tb := t.tables[table].Load()
	if tb == nil {
		return nil
	}
	t.lockPiece()
	defer t.mu.Unlock()
	s := make([]*subtable, 0, len(tb.byMask))
	for _, x := range tb.byMask {
		s = append(s, x)
	}
	return s
}

// eachRule calls f for all rules of a table in all versions, some perhaps twice.
func (t *Tables) eachRule(table uint8, f func(*Rule)) {
	for _, s := range t.subtables(table) {
		s.rules.each(func(r *Rule) bool {
			f(r)
			return true
		})
	}
}

// collect finds the rules that are seen in a version and selected by o, nil: all. They are in the
// order of Flows.
func (t *Tables) collect(o *op, version uint64) []*Rule {
	var all []*Rule
	first, last := 0, ofp.MaxTables-1
	if o != nil && o.rule.Table != ofp.TableAll {
		first, last = int(o.rule.Table), int(o.rule.Table)
	}
	for n := first; n <= last; n++ {
		for _, s := range t.subtables(uint8(n)) {
			if o != nil && !o.rule.mask.within(s.mask) {
				continue
			}
			s.rules.each(func(r *Rule) bool {
				if r.seen(version) && (o == nil || o.selects(r)) {
					all = append(all, r)
				}
				return true
			})
		}
	}
	slices.SortFunc(all, (*Rule).compare)
	return slices.Compact(all)
}

// compare orders by table, descending priority, and age.
func (r *Rule) compare(o *Rule) int {
	return cmp.Or(cmp.Compare(r.Table, o.Table), cmp.Compare(o.Priority, r.Priority),
		cmp.Compare(r.added, o.added), cmp.Compare(r.seq, o.seq))
}

// pinned calls f with a version that stays valid meanwhile. For slow readers.
func (t *Tables) pinned(f func(version uint64)) {
	t.pins.Add(1)
	defer t.pins.Add(-1)
	f(t.Version())
}

// filter makes a filter of a flow mod, with OutPort and OutGroup as in Delete.
func (t *Tables) filter(f *ofp.FlowMod) *op {
	if f == nil {
		return nil
	}
	o := &op{cmd: ofp.Delete, cookieMask: f.CookieMask, outPort: f.OutPort, outGroup: f.OutGroup}
	if f.Command == ofp.DeleteStrict || f.Command == ofp.ModifyStrict {
		o.cmd = ofp.DeleteStrict
	}
	o.rule = newRule(&f.Flow, t.maskOf(&f.Flow.Match.Mask), 0)
	return o
}

// Flows are the rules that a filter (as of Delete and DeleteStrict) means, nil: all; by table, then descending
// priority, then age.
func (t *Tables) Flows(filter *ofp.FlowMod) (all []*Rule) {
	o := t.filter(filter)
	t.pinned(func(v uint64) { all = t.collect(o, v) })
	return all
}

// Aggregate sums up the rules that a filter means.
func (t *Tables) Aggregate(filter *ofp.FlowMod) (packets, bytes uint64, flows int) {
	for _, r := range t.Flows(filter) {
		packets += r.Packets()
		bytes += r.Bytes()
		flows++
	}
	return packets, bytes, flows
}
