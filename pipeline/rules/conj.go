package rules

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// Conjunctive matches (ovs-fields(7), "conj_id"): a rule with conjunction actions is
// a clause and matches nothing by itself. If of the clauses of an id that a packet meets at one priority
// there is one of each dimension, the table is searched again with that conj_id.

// soft is a clause that matched.
type soft struct {
	id       uint32
	priority uint16
	clause   uint8
	n        uint8
}

// clause adds the clauses of a rule to s.soft, which is kept by descending priority, then
// ascending id and n.
func (s *Scratch) clause(r *Rule) {
	for _, a := range r.Actions {
		c, ok := a.(ofp.Conjunction)
		if !ok {
			continue
		}
		x := soft{c.ID, r.Priority, c.Clause, c.N}
		s.soft = append(s.soft, x)
		i := len(s.soft) - 1
		for ; i > 0 && x.before(&s.soft[i-1]); i-- {
			s.soft[i] = s.soft[i-1]
		}
		s.soft[i] = x
	}
}

func (x *soft) before(y *soft) bool {
	if x.priority != y.priority {
		return x.priority > y.priority
	}
	if x.id != y.id {
		return x.id < y.id
	}
	return x.n < y.n
}

// conjunctive finds the rule of the best conjunctive match among s.soft with a higher priority than hard
// has, or else is hard. Of several ids of one priority that match, which is the controller's
// mistake, the least one wins.
func (t *table) conjunctive(hard *Rule, version uint64, k, wc *flow.Key, s *Scratch) *Rule {
	all := s.soft
	s.hidden = true
	for i := 0; i < len(all); {
		x := all[i]
		if hard != nil && x.priority <= hard.Priority {
			break
		}
		var met uint64
		for ; i < len(all) && all[i].priority == x.priority && all[i].id == x.id && all[i].n == x.n; i++ {
			met |= 1 << all[i].clause
		}
		if met != ^uint64(0)>>(64-x.n) {
			continue
		}
		s.key = *k
		s.key[flow.WordPipe] = uint64(x.id)<<32 | uint64(uint32(k[flow.WordPipe]))
		s.soft = all[len(all):] // the search adds none: they are hidden
		r := t.lookup(version, &s.key, wc, s)
		s.soft = all
		if r != nil {
			return r
		}
	}
	return hard
}
