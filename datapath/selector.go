package datapath

import (
	"fmt"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
)

// selector is a match on packets, as a poll thread asks it: only words that are looked at.
type selector struct {
	words []selected
	key   flow.Key // scratch
}

type selected struct {
	word      int
	key, mask uint64
}

// newSelector makes one; nil selects all. What packets do not come with cannot be asked for.
func newSelector(m *flow.Match) (selector, error) {
	var s selector
	if m == nil {
		return s, nil
	}
	for i, mask := range m.Mask {
		if mask == 0 {
			continue
		}
		if i >= flow.BaseWords {
			return s, fmt.Errorf("%s: packets do not come with this field", fieldIn(m, i))
		}
		s.words = append(s.words, selected{i, m.Key[i], mask})
	}
	return s, nil
}

// fieldIn is the name of the field that m asks for in a word.
func fieldIn(m *flow.Match, word int) string {
	for _, f := range flow.Fields() {
		var k flow.Key
		f.Set(&k, f.All())
		if _, mask := m.Get(f); k[word]&m.Mask[word] != 0 && !mask.IsZero() {
			return f.Name
		}
	}
	return "match"
}

// takes tells whether packet p is one of them. in_port is the number in its bridge of the port that p
// entered by.
func (s *selector) takes(t *thread, p *packet.Packet) bool {
	if len(s.words) == 0 {
		return true
	}
	flow.ExtractBase(p, &s.key)
	of := uint32(0)
	if int(p.InPort) < len(t.w.ports) && t.w.ports[p.InPort] != nil {
		of = uint32(t.w.ports[p.InPort].ofPort)
	}
	s.key.SetInPort(of)
	for i := range s.words {
		w := &s.words[i]
		if (s.key[w.word]^w.key)&w.mask != 0 {
			return false
		}
	}
	return true
}
