package driver

import (
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// split is the rings of a split virtqueue: what receive and transmit have in common.
type split struct {
	used     uintptr
	mask     uint16
	eventIdx bool
	broken

	seen uint16 // the device's index as read last
	next uint16 // used entry to take next

	avail struct {
		at   uintptr
		next uint16 // entry to write next
		was  uint16 // index when NeedKick was asked last
	}
}

func newSplit(c Config) split {
	s := split{used: c.Used, mask: uint16(c.Size - 1), eventIdx: c.Features&virtio.FEventIdx != 0}
	base := uint16(c.Base)
	s.seen, s.next = base, base
	s.avail.at, s.avail.next, s.avail.was = c.Avail, base, base
	mem.Store16Release(s.used+2, base)
	mem.Store16Release(s.avail.at+2, base)
	s.Disarm()
	return s
}

// more is how many more used entries there are, want at most. The device has out buffers.
func (s *split) more(want int, out uint16) int {
	if want <= 0 || s.Broken() != OK {
		return 0
	}
	ready := s.seen - s.next
	if int(ready) < want {
		s.seen = mem.Load16Acquire(s.used + 2)
		if ready = s.seen - s.next; ready > out {
			s.Break(BadIndex)
			return 0
		}
	}
	return min(int(ready), want)
}

// write makes entry i of the available ring name a buffer, if it does not.
func (s *split) write(i, id uint16) {
	if at := s.avail.at + 4 + 2*uintptr(i&s.mask); mem.Load16(at) != id {
		mem.Store16(at, id)
	}
}

// offer puts a buffer into the next entry of the available ring.
func (s *split) offer(id uint16) {
	s.write(s.avail.next, id)
	s.avail.next++
}

// publish shows the device all that was offered.
func (s *split) publish() { mem.Store16Release(s.avail.at+2, s.avail.next) }

// NeedKick implements Signals.
func (s *split) NeedKick() bool {
	// The index must be visible before the device's wish is read: else it arms and looks,
	// we read and publish, and nobody is told.
	mem.Fence()
	if !s.eventIdx {
		return mem.Peek16(s.used)&usedNoNotify == 0
	}
	event := mem.Peek16(s.used + 4 + 8*(uintptr(s.mask)+1))
	old := s.avail.was
	s.avail.was = s.avail.next
	return s.avail.next-event-1 < s.avail.next-old
}

// Arm implements Signals.
func (s *split) Arm() bool {
	if s.eventIdx {
		s.event(s.next)
	} else {
		mem.Store16Release(s.avail.at, 0)
	}
	mem.Fence()
	return mem.Load16Acquire(s.used+2) == s.next
}

// Disarm implements Signals. With event indices, the index that the device is to notify at
// is as far away as can be.
func (s *split) Disarm() {
	if s.eventIdx {
		s.event(s.next + 1<<15)
	} else {
		mem.Store16Release(s.avail.at, availNoInterrupt)
	}
}

func (s *split) event(at uint16) {
	mem.Store16Release(s.avail.at+4+2*(uintptr(s.mask)+1), at)
}
