package rules

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// Scratch is what Lookup needs to work, one per thread. The zero value is ready.
type Scratch struct {
	soft   []soft // clauses of conjunctive matches that matched
	asked  uint8  // bit n: found[n] is there
	found  [numTries]found
	tries  *[numTries]trie
	key    flow.Key
	hidden bool // the rules of conjunctive matches are not looked for
}

// Lookup finds the rule of a table for a packet: the one with the highest priority of those that match
// in a version, nil if none does. Every bit of k that it had to look at to know that is
// set in wc: a packet that agrees with k in those bits finds the same rule. A table from
// 255 on has no rules.
func (t *Tables) Lookup(table uint8, version uint64, k, wc *flow.Key, s *Scratch) *Rule {
	if table >= ofp.MaxTables {
		return nil
	}
	tb := t.tables[table].Load()
	if tb == nil {
		return nil
	}
	tb.lookups.Add(1)
	s.hidden = false
	r := tb.lookup(version, k, wc, s)
	if len(s.soft) != 0 {
		r = tb.conjunctive(r, version, k, wc, s)
	}
	if r != nil {
		tb.matches.Add(1)
	}
	return r
}

// lookup finds the best rule that is no clause of a conjunctive match; clauses of higher
// priority are left in s.soft.
func (t *table) lookup(version uint64, k, wc *flow.Key, s *Scratch) *Rule {
	s.soft = s.soft[:0]
	s.asked = 0
	s.tries = &t.tries
	var best *Rule
	subs := *t.subs.Load()
	for i := range subs {
		if best != nil && subs[i].priority <= best.Priority {
			break
		}
		for r := subs[i].find(k, wc, s); r != nil; r = r.next.Load() {
			if best != nil && r.Priority <= best.Priority {
				break
			}
			if !r.seen(version) || !r.matches(k) {
				continue
			}
			if r.traits&conjunctive == 0 {
				best = r
				break
			}
			if !s.hidden {
				s.clause(r)
			}
		}
	}
	return best
}

// impossible asks tries whether a subtable with mask m can have a rule for k. If not, the
// bits that say so are set in wc.
func (s *Scratch) impossible(m *mask, which uint8, k, wc *flow.Key) bool {
	for i := range s.found {
		if which>>i&1 == 0 {
			continue
		}
		f := &tries[i]
		if f.etherType != 0 && k.EthType() != f.etherType {
			continue
		}
		a := &s.found[i]
		if s.asked>>i&1 == 0 {
			hi, lo := f.get(k)
			s.tries[i].find(hi, lo, f.width, a)
			s.asked |= 1 << i
		}
		if n := m.plen[i]; !a.has(n) {
			f.look(wc, min(n, a.bits))
			return true
		}
	}
	return false
}
