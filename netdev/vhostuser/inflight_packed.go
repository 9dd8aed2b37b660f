package vhostuser

import (
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// Where things are in a packed ring's part of the table, as in a split one's. What is old is as it
// was before the batch in work. The wrap counters have a byte each.
const (
	packedEntries  = 10
	packedFree     = 12 // the first of a list of entries
	packedOldFree  = 14
	packedUsedIdx  = 16
	packedOldUsed  = 18
	packedWraps    = 20 // the counter, and the old one in the byte behind it
	packedNext     = 2  // of an entry: the next of the list, or of the chain
	packedLast     = 4  // of a chain's first entry: its last
	packedNum      = 6  // and how many
	packedCounter  = 8
	packedID       = 16
	packedFlags    = 18
	packedLen      = 20
	packedAddr     = 24
	descriptorSize = 16
)

// The bits of a descriptor's flags that say whose it is (virtio 1.2, section 2.8.1).
const (
	availBit = 1 << 7
	usedBit  = 1 << 15
)

// packedTable is a packed ring's part of the table, with the ring's descriptors.
type packedTable struct {
	at      uintptr
	entries int
	desc    uintptr
	size    int
}

func (t *packedTable) entry(i int) uintptr {
	return t.at + vhostuser.PackedInflightHeader + vhostuser.PackedInflightEntry*uintptr(i)
}

// place is a position in a packed ring and the wrap counter there.
type place struct {
	idx  int
	wrap uint16 // 0 or 1
}

func (t *packedTable) step(p place, n int) place {
	if p.idx += n; p.idx >= t.size {
		return place{p.idx - t.size, p.wrap ^ 1}
	}
	return p
}

func (t *packedTable) at16(p place, field uintptr) uintptr {
	return t.desc + descriptorSize*uintptr(p.idx) + field
}

// available tells whether the driver made the descriptor available in this round and it was not used since.
func (t *packedTable) available(p place) bool {
	flags := mem.Load16(t.at16(p, 14))
	return flags&availBit != 0 == (p.wrap == 1) && flags&usedBit != 0 == (p.wrap == 0)
}

func placeOf(base uint32) place { return place{int(base & 0x7fff), uint16(base >> 15 & 1)} }

// base is the place as SET_VRING_BASE would say it.
func (p place) base() uint32 {
	b := uint32(p.idx) | uint32(p.wrap)<<15
	return b | b<<16
}

// trackedPacked keeps account of a packed ring. Each entry of the table stands for a
// descriptor that was taken, with a copy of it, or is on the list of free ones. What decides is
// kept here too: the front end can write to the table.
type trackedPacked struct {
	virtio.Ring
	packedTable
	held    *virtio.Batch
	counter uint64
	next    []uint16 // as in the entries
	free    uint16
	take    place // the next descriptor to be taken
	used    place // and used
	n       int   // chains in the table, each in
	chains  [virtio.MaxChains]struct{ first, last uint16 }
}

func newTrackedPacked(c *virtio.Config, at uintptr, entries int, old bool) (virtio.Ring, error) {
	t := packedTable{at, entries, c.Desc, c.Size}
	if old {
		c.Base = t.recover().base()
	}
	r, err := virtio.New(*c)
	if err != nil {
		return nil, err
	}
	p := &trackedPacked{Ring: r, packedTable: t, held: r.Held(), next: make([]uint16, entries), used: placeOf(r.Base() >> 16)}
	p.take = p.used
	p.clear()
	return p, nil
}

// clear makes all entries free; nothing is in flight any more.
func (r *trackedPacked) clear() {
	mem.Store16(r.at+packedEntries, uint16(r.entries))
	for i := range r.entries {
		r.next[i] = uint16((i + 1) % r.entries)
		mem.Store16(r.entry(i), 0)
		mem.Store16(r.entry(i)+packedNext, r.next[i])
	}
	r.freeList()
	mem.Store16(r.at+packedOldFree, r.free)
	r.position()
	r.settle()
	mem.Store16(r.at+versionField, inflightVersion)
}

func (r *trackedPacked) freeList() { mem.Store16(r.at+packedFree, r.free) }

// position writes where the ring stands, and leaves the old place.
func (r *trackedPacked) position() {
	mem.Store16(r.at+packedUsedIdx, uint16(r.used.idx))
	mem.Store16(r.at+packedWraps, mem.Load16(r.at+packedWraps)&0xff00|r.used.wrap)
}

// settle makes what is there the old state.
func (r *trackedPacked) settle() {
	mem.Store16(r.at+packedOldFree, r.free)
	mem.Store16(r.at+packedOldUsed, uint16(r.used.idx))
	mem.Store16(r.at+packedWraps, r.used.wrap|r.used.wrap<<8)
}

// Gather implements virtio.Ring.
func (r *trackedPacked) Gather(want int) int {
	n := r.Ring.Gather(want)
	for i := r.n; i < n; i++ {
		c := &r.held.Chains[i]
		first, last := r.free, r.free
		e := r.entry(int(first))
		mem.Store16(e+packedNum, 0)
		mem.Store64(e+packedCounter, r.counter)
		mem.Store16(e, 1)
		r.counter++
		for range c.Slots {
			last = r.free
			d, to := r.at16(r.take, 0), r.entry(int(last))
			mem.Store64(to+packedAddr, mem.Load64(d))
			mem.Store32(to+packedLen, mem.Load32(d+8))
			mem.Store16(to+packedID, mem.Load16(d+12))
			mem.Store16(to+packedFlags, mem.Load16(d+14))
			mem.Store16(e+packedNum, mem.Load16(e+packedNum)+1)
			r.free = r.next[last]
			r.take = r.step(r.take, 1)
		}
		mem.Store16(e+packedLast, last)
		r.freeList()
		mem.Store16(r.at+packedOldFree, r.free)
		r.chains[i].first, r.chains[i].last = first, last
	}
	r.n = n
	return n
}

// giveUp puts the entries of a chain on the free list.
func (r *trackedPacked) giveUp(i int) {
	c := &r.chains[i]
	r.next[c.last] = r.free
	mem.Store16(r.entry(int(c.last))+packedNext, r.free)
	r.free = c.first
	r.freeList()
}

// Use implements virtio.Ring.
func (r *trackedPacked) Use(n int) {
	for i := range n {
		r.giveUp(i)
		r.used = r.step(r.used, int(r.held.Chains[i].Slots))
	}
	r.position()
	r.Ring.Use(n)
	for i := range r.n {
		mem.Store16(r.entry(int(r.chains[i].first)), 0)
	}
	r.settle()
	for i := n; i < r.n; i++ { // what was put back
		r.giveUp(i)
	}
	r.settle()
	r.take, r.n = r.used, 0
}

// recover reads what is in flight, and says where the ring is to go on.
func (t *packedTable) recover() place {
	wraps := mem.Load16(t.at + packedWraps)
	p := place{int(mem.Load16(t.at + packedUsedIdx)), wraps & 1}
	old := place{int(mem.Load16(t.at + packedOldUsed)), wraps >> 8 & 1}
	p.idx, old.idx = p.idx%t.size, old.idx%t.size
	switch {
	case p == old:
	case t.available(old): // the driver was not shown the last batch
		p = old
	default: // it was, and its chains are the first of the free list
		e, end := mem.Load16(t.at+packedFree), mem.Load16(t.at+packedOldFree)
		for range t.entries {
			if e == end || int(e) >= t.entries {
				break
			}
			mem.Store16(t.entry(int(e)), 0)
			e = mem.Load16(t.entry(int(e)) + packedNext)
		}
	}
	list := inFlight(t.entry, t.entries)
	if t.inOrder(list, p) {
		// Backwards: if this is interrupted, the rest is in order as well.
		for i := len(list) - 1; i >= 0; i-- {
			mem.Store16(t.entry(list[i].entry), 0)
		}
		return p
	}
	for _, x := range list {
		e := t.entry(x.entry)
		last := int(mem.Load16(e+packedLast)) % t.entries
		mem.Store16(t.at16(p, 12), mem.Load16(t.entry(last)+packedID))
		mem.Store32(t.at16(p, 8), 0)
		flags := uint16(0)
		if p.wrap == 1 {
			flags = availBit | usedBit
		}
		mem.Fence()
		mem.Store16(t.at16(p, 14), flags)
		p = t.step(p, max(1, min(int(mem.Load16(e+packedNum)), t.size)))
	}
	return p
}

// inOrder tells whether the chains still stand in the ring, in the order in which they were taken.
func (t *packedTable) inOrder(list []taken, p place) bool {
	for _, x := range list {
		e := t.entry(x.entry)
		n := max(1, min(int(mem.Load16(e+packedNum)), t.size))
		if !t.available(p) || mem.Load64(t.at16(p, 0)) != mem.Load64(e+packedAddr) || mem.Load16(t.at16(p, 12)) != mem.Load16(e+packedID) {
			return false
		}
		p = t.step(p, n)
	}
	return true
}
