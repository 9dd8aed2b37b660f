package virtio

import "github.com/gvswitch/gvswitch/internal/mem"

// Use returns the oldest gathered chain to the driver with n bytes written to it (0
// for one that was only read). The driver sees it after Publish. The segments of the
// chain must not be touched after that.
func (s *Split) Use(head uint16, n uint32) {
	mem.Store64(s.used+4+8*uintptr(s.usedIdx&s.mask), uint64(head)|uint64(n)<<32)
	s.usedIdx++
}

// Abandon forgets the chains that were used and not published: their use was
// interrupted, and they are still gathered.
func (s *Split) Abandon() { s.usedIdx = s.published }

// Consume says that the first n gathered chains are done with: used, or without
// a head to use. What was gathered beyond them is put back.
func (s *Split) Consume(n int) {
	s.nextAvail += uint16(n)
	s.n, s.nsegs = 0, 0
}

// Publish shows the driver all chains used so far.
func (s *Split) Publish() {
	if s.published != s.usedIdx {
		s.published = s.usedIdx
		mem.Store16Release(s.used+2, s.usedIdx)
	}
}

// NeedNotify tells whether the driver wants to hear of what was published since
// it was last notified; the caller then does so (virtio 1.2, section 2.7.7).
func (s *Split) NeedNotify() bool {
	// Not before the index is visible may the driver's wish be read: else it arms
	// and looks, we read and publish, and nobody is told.
	mem.Fence()
	if !s.eventIdx {
		return mem.Load16(s.avail)&availNoInterrupt == 0
	}
	event := mem.Load16(s.event)
	old, ok := s.signalled, s.signalOK
	s.signalled, s.signalOK = s.published, true
	return !ok || s.published-event-1 < s.published-old
}

// Arm asks the driver to notify the device of new chains, and reports whether
// there are none yet; if there are, nobody will.
func (s *Split) Arm() (empty bool) {
	if s.eventIdx {
		mem.Store16(s.used+4+8*uintptr(s.size), s.nextAvail)
	} else {
		mem.Store16(s.used, 0)
	}
	mem.Fence()
	return mem.Load16Acquire(s.avail+2) == s.nextAvail
}

// Disarm tells the driver that the device looks by itself. With event indices
// nothing is to be done: the driver notifies once when it passes the index.
func (s *Split) Disarm() {
	if !s.eventIdx {
		mem.Store16(s.used, usedNoNotify)
	}
}
