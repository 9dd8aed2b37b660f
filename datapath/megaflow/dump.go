package megaflow

import (
	"slices"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/flow"
)

// Record is a copy of a megaflow.
type Record struct {
	Ref            Ref
	Value          uint32
	Key, Mask      flow.Key
	Packets, Bytes uint64
	Used           uint32
	TCPFlags       uint16
}

// Dump copies megaflows to out and says where to go on, as Scan does. Any goroutine may call it while the
// owner works. Each copy is of one megaflow, with statistics that may be a moment old; the whole is not
// of one moment.
//
// It relies on the head of a megaflow: what is read between two equal heads belongs together, for
// the owner gives the head another generation before and after it changes
// what is behind it.
func (t *Table) Dump(from Ref, out []Record) (n int, next Ref) {
	r := max(from, 1)
	for range places * len(out) {
		if r = t.step(r); r == 0 || n == len(out) {
			return n, r
		}
		if t.record(r, &out[n]) {
			n++
		}
		r = t.behind(r)
	}
	return n, t.step(r)
}

// record copies megaflow r, if it is one.
func (t *Table) record(r Ref, c *Record) bool {
	e := t.addr(r)
	for {
		head := get64(e)
		id := subOf(head)
		if id == subNone {
			return false
		}
		*c = Record{Ref: r, Value: uint32(head)}
		s := &t.subs[id]
		// The mask may be another one by now: stay inside the block.
		i, end := e+8, e+uintptr(t.class[r>>chunkBits])*lineBytes
		for w := range flow.PacketWords {
			if m := atomic.LoadUint64(&s.mask[w]); m != 0 && i < end {
				c.Mask[w] = m
				c.Key[w] = get64(i)
				i += 8
			}
		}
		stats := t.Stats(r)
		c.Packets, c.Bytes = stats.Packets.Load(), stats.Bytes.Load()
		c.Used, c.TCPFlags = stats.recent()
		if get64(e) == head {
			return true
		}
	}
}

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
