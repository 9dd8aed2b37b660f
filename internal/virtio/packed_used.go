package virtio

import "github.com/gvswitch/gvswitch/internal/mem"

// Use implements Ring. The first descriptor is written last: the driver, which
// looks there, sees all of them at once.
func (p *Packed) Use(n int) {
	if n > 0 {
		first := p.desc + 16*uintptr(p.use.at) + 8
		word := p.used(&p.Chains[0])
		for i := range p.Chains[1:n] {
			at := p.desc + 16*uintptr(p.use.at) + 8
			mem.Store64(at, p.used(&p.Chains[1+i]))
		}
		mem.Store32(first, uint32(word))
		mem.Store32Release(first+4, uint32(word>>32))
	}
	p.put()
}

// used is the second half of the used descriptor of a chain, and goes on behind it.
func (p *Packed) used(c *Chain) uint64 {
	flags := p.use.used()
	if c.Written != 0 {
		flags |= descWrite
	}
	p.use.step(uint32(c.Slots), p.size)
	p.unsaid += uint32(c.Slots)
	return uint64(c.Written) | uint64(c.Head)<<32 | uint64(flags)<<48
}

// put puts back what was gathered and not used.
func (p *Packed) put() {
	p.take, p.taken = p.use, 0
	p.n, p.nsegs = 0, 0
}

// NeedNotify implements Ring.
func (p *Packed) NeedNotify() bool {
	// As of a split ring: not before the used descriptors are visible.
	mem.Fence()
	event := mem.Peek32(p.driver) // offset and wrap counter, then flags, read as one
	used, ok := min(p.unsaid, p.size), p.signalOK
	p.unsaid, p.signalOK = 0, true
	switch event >> 16 & 3 {
	case eventsDisable:
		return false
	case eventsAtDesc:
		if p.eventIdx && ok {
			// How far the descriptor in question is behind the last one used, in two rounds.
			back := p.use.line(p.size) - placeOf(event&0xffff).line(p.size)
			if int32(back) <= 0 {
				back += 2 * p.size
			}
			return back <= used
		}
	}
	return true
}

// line is the position in two rounds of the ring.
func (p place) line(size uint32) uint32 {
	if p.flags == packedAvail {
		return p.at
	}
	return p.at + size
}

// Arm implements Ring.
func (p *Packed) Arm() (empty bool) {
	if p.eventIdx {
		mem.Store32Release(p.device, p.use.base()|eventsAtDesc<<16)
	} else {
		mem.Store32Release(p.device, eventsEnable<<16)
	}
	mem.Fence()
	return p.Empty()
}

// Disarm implements Ring.
func (p *Packed) Disarm() { mem.Store32Release(p.device, eventsDisable<<16) }
