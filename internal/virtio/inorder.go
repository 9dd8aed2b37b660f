package virtio

import "github.com/gvswitch/gvswitch/internal/mem"

// With IN_ORDER a device may write one used entry, with the last buffer's id, for a whole batch of
// buffers, where the first one's would be; the driver takes those before it for used
// completely (virtio 1.2, sections 2.7.9 and 2.8.9). So it says nothing of how much was
// written to each: that is for rings which the device only reads.
func batches(c *Config) bool {
	return c.Features&FInOrder != 0 && !c.DeviceWrites && !c.Mixed
}

// SplitInOrder is a Split that uses batches.
type SplitInOrder struct{ Split }

// NewSplitInOrder makes one.
func NewSplitInOrder(c Config) (*SplitInOrder, error) {
	s, err := NewSplit(c)
	if err != nil {
		return nil, err
	}
	s.entry = 0
	return &SplitInOrder{*s}, nil
}

// Use implements Ring.
func (s *SplitInOrder) Use(n int) {
	if s.strays != 0 {
		s.Split.Use(n) // the batch must not end with a chain that has no name
		return
	}
	if n > 0 {
		last := &s.Chains[n-1]
		mem.Store64(s.used+4+8*uintptr(s.usedIdx&s.mask), uint64(last.Head))
		s.usedIdx += uint16(n)
	}
	s.publish(n)
}

// PackedInOrder is a Packed that uses batches.
type PackedInOrder struct{ Packed }

// NewPackedInOrder makes one.
func NewPackedInOrder(c Config) (*PackedInOrder, error) {
	p, err := NewPacked(c)
	if err != nil {
		return nil, err
	}
	return &PackedInOrder{*p}, nil
}

// Use implements Ring.
func (p *PackedInOrder) Use(n int) {
	if n > 0 {
		at := p.desc + 16*uintptr(p.use.at) + 8
		head, flags := p.Chains[n-1].Head, p.use.used()
		if n == p.n {
			p.use = p.take
			p.unsaid += p.taken
		} else {
			for i := range p.Chains[:n] {
				p.use.step(uint32(p.Chains[i].Slots), p.size)
				p.unsaid += uint32(p.Chains[i].Slots)
			}
		}
		mem.Store32(at, 0)
		mem.Store32Release(at+4, uint32(head)|uint32(flags)<<16)
	}
	p.put()
}
