package rules

import (
	"sort"

	"github.com/gvswitch/gvswitch/flow"
)

// subtable are the rules of a table that have the same mask.
type subtable struct {
	mask  *mask
	rules dict
	index [stages - 1]dict // by stage but the last: which values rules have in it and before

	// Of writers.
	full  flow.Key // the mask
	n     int      // rules, those that went included
	prios []prio   // ascending
}

// prio is how many rules have a priority.
type prio struct {
	priority uint16
	rules    int32
}

func newSubtable(full *flow.Key, m *mask) *subtable {
	s := &subtable{mask: m, full: *full}
	s.rules.rules = true
	return s
}

// max is the highest priority.
func (s *subtable) max() uint16 { return s.prios[len(s.prios)-1].priority }

// link puts a rule into s and tells whether that changes the highest priority.
func (s *subtable) link(r *Rule) bool {
	h, w := seed, 0
	for i := range s.mask.stage[:max(len(s.mask.stage), 1)-1] {
		for end := int(s.mask.stage[i].end); w < end; w++ {
			h = mixed(h, r.vals[w], s.mask.words[w].i)
		}
		s.index[i].count(tag(h))
	}
	s.rules.add(r.tag, r)
	s.n++
	i := sort.Search(len(s.prios), func(i int) bool { return s.prios[i].priority >= r.Priority })
	if i < len(s.prios) && s.prios[i].priority == r.Priority {
		s.prios[i].rules++
		return false
	}
	s.prios = append(s.prios, prio{})
	copy(s.prios[i+1:], s.prios[i:])
	s.prios[i] = prio{r.Priority, 1}
	return i == len(s.prios)-1
}

// unlink takes it out, and tells the same.
func (s *subtable) unlink(r *Rule) bool {
	h, w := seed, 0
	s.rules.remove(r.tag, r)
	for i := range s.mask.stage[:max(len(s.mask.stage), 1)-1] {
		for end := int(s.mask.stage[i].end); w < end; w++ {
			h = mixed(h, r.vals[w], s.mask.words[w].i)
		}
		s.index[i].uncount(tag(h))
	}
	s.n--
	i := sort.Search(len(s.prios), func(i int) bool { return s.prios[i].priority >= r.Priority })
	if s.prios[i].rules--; s.prios[i].rules != 0 {
		return false
	}
	last := i == len(s.prios)-1
	s.prios = append(s.prios[:i], s.prios[i+1:]...)
	return last
}

// find is the first rule of the chain that k's rules must be in, nil if there are none. What it looked
// at is set in wc.
func (s *subtable) find(k, wc *flow.Key, c *Scratch) *Rule {
	m := s.mask
	h, w := seed, uint8(0)
	last := len(m.stage) - 1
	for i := range m.stage {
		st := &m.stage[i]
		if st.tries != 0 && c.impossible(m, st.tries, k, wc) {
			m.addTo(wc, w)
			return nil
		}
		for ; w < st.end; w++ {
			word := &m.words[w]
			h = mixed(h, k[word.i]&word.bits, word.i)
		}
		if i != last && !s.index[i].has(tag(h)) {
			m.addTo(wc, w)
			return nil
		}
	}
	m.addTo(wc, w)
	return s.rules.head(tag(h))
}
