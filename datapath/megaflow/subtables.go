package megaflow

import (
	"slices"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/flow"
)

// Subtable is what a dump shows of a subtable.
type Subtable struct {
	Mask    flow.Key
	Entries uint64
	Hits    uint64 // by itself or by way of the signature cache
}

// Subtables appends what there is to buf, the subtable with most hits first. Any goroutine may call it.
func (t *Table) Subtables(buf []Subtable) []Subtable {
	first := len(buf)
	for id := range t.subs {
		s := &t.subs[id]
		state := s.state.Load()
		if state&1 == 0 {
			continue
		}
		c := Subtable{Entries: s.entries.Load(), Hits: t.hits[id].Load()}
		for w := range s.mask {
			c.Mask[w] = atomic.LoadUint64(&s.mask[w])
		}
		if s.state.Load() == state {
			buf = append(buf, c)
		}
	}
	slices.SortStableFunc(buf[first:], func(a, b Subtable) int {
		switch {
		case a.Hits > b.Hits:
			return -1
		case a.Hits < b.Hits:
			return 1
		}
		return 0
	})
	return buf
}
