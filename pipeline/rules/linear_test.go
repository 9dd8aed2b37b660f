package rules

import (
	"slices"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// Linear says which of flows a packet finds in a table, -1: none. It is the same as Lookup, from OpenFlow's and
// ovs-fields(7)'s words and as simple as can be: a reference for tests, which knows nothing of
// how Lookup works. Of flows with the same priority it takes the first.
func Linear(flows []ofp.Flow, table uint8, k *flow.Key) int {
	best := linear(flows, table, k)
	for p := 0x10000; ; {
		// The next lower priority that clauses have.
		next := -1
		for i := range flows {
			if q := int(flows[i].Priority); flows[i].Table == table && q < p && q > next && isClause(&flows[i]) {
				next = q
			}
		}
		if p = next; p < 0 || best >= 0 && int(flows[best].Priority) >= p {
			return best
		}
		for _, id := range conjunctions(flows, table, uint16(p), k) {
			again := *k
			again[flow.WordPipe] = uint64(id)<<32 | k[flow.WordPipe]&0xffffffff
			if i := linear(flows, table, &again); i >= 0 {
				return i
			}
		}
	}
}

// conjunctions are the ids of conjunctive matches that k has at a priority, ascending.
func conjunctions(flows []ofp.Flow, table uint8, priority uint16, k *flow.Key) (ids []uint32) {
	type conj struct {
		id uint32
		n  uint8
	}
	met := map[conj]map[uint8]bool{}
	for i := range flows {
		f := &flows[i]
		if f.Table != table || f.Priority != priority || !f.Match.Matches(k) {
			continue
		}
		for _, a := range f.Actions {
			if c, ok := a.(ofp.Conjunction); ok {
				if met[conj{c.ID, c.N}] == nil {
					met[conj{c.ID, c.N}] = map[uint8]bool{}
				}
				met[conj{c.ID, c.N}][c.Clause] = true
			}
		}
	}
	for c, clauses := range met {
		if len(clauses) == int(c.n) {
			ids = append(ids, c.id)
		}
	}
	slices.Sort(ids)
	return ids
}

func isClause(f *ofp.Flow) bool {
	return slices.ContainsFunc(f.Actions, func(a ofp.Action) bool {
		_, ok := a.(ofp.Conjunction)
		return ok
	})
}

// linear finds the best flow that is no clause.
func linear(flows []ofp.Flow, table uint8, k *flow.Key) int {
	best := -1
	for i := range flows {
		f := &flows[i]
		if f.Table != table || best >= 0 && f.Priority <= flows[best].Priority || !f.Match.Matches(k) {
			continue
		}
		if !isClause(f) {
			best = i
		}
	}
	return best
}
