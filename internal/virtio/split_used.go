package virtio

import "github.com/gvswitch/gvswitch/internal/mem"

// Use implements Ring.
func (s *Split) Use(n int) {
	for i := range s.Chains[:n] {
		if c := &s.Chains[i]; c.Fault != BadHead {
			mem.Store64(s.used+4+8*uintptr(s.usedIdx&s.mask), uint64(c.Head)|uint64(c.Written)<<32)
			s.usedIdx++
		}
	}
	s.publish(n)
}

// publish shows the driver what of n chains was used, and puts the others back.
func (s *Split) publish(n int) {
	s.nextAvail += uint16(n)
	s.n, s.nsegs, s.strays = 0, 0, 0
	if n > 0 {
		mem.Store16Release(s.used+2, s.usedIdx)
	}
}

// NeedNotify implements Ring.
func (s *Split) NeedNotify() bool {
	// Not before the index is visible may the driver's wish be read: else it arms
	// and looks, we read and use, and nobody is told.
	mem.Fence()
	if !s.eventIdx {
		return mem.Peek16(s.avail)&availNoInterrupt == 0
	}
	event := mem.Peek16(s.event)
	old, ok := s.signalled, s.signalOK
	s.signalled, s.signalOK = s.usedIdx, true
	return !ok || s.usedIdx-event-1 < s.usedIdx-old
}

// Arm implements Ring.
func (s *Split) Arm() (empty bool) {
	if s.eventIdx {
		mem.Store16Release(s.used+4+8*uintptr(s.size), s.nextAvail)
	} else {
		mem.Store16Release(s.used, 0)
	}
	mem.Fence()
	return s.Empty()
}

// Disarm implements Ring. With event indices
// nothing is to be done: the driver notifies once when it passes the index.
func (s *Split) Disarm() {
	if !s.eventIdx {
		mem.Store16Release(s.used, usedNoNotify)
	}
}
