package virtio

import (
	"fmt"

	"github.com/gvswitch/gvswitch/internal/mem"
)

// flags of the rings (virtio 1.2, sections 2.7.6, 2.7.8).
const (
	availNoInterrupt = 1
	usedNoNotify     = 1
)

// Split is the device side of a split virtqueue.
type Split struct {
	desc, avail, used uintptr
	event             uintptr // where the driver says when to notify it (used_event)
	mask              uint16
	guess             uint16 // the descriptor that is probably next
	eventIdx          bool
	entry             int // bytes of the used ring that each chain but the first of a batch costs
	strays            int // gathered chains with BadHead

	availIdx  uint16 // the driver's index as read last
	nextAvail uint16 // entry to take next
	usedIdx   uint16 // entry to use next
	signalled uint16 // used index when the driver was last notified
	signalOK  bool   // signalled means something

	source
}

// NewSplit makes the device side of a ring. The used index continues where the ring's
// memory says it stands.
func NewSplit(c Config) (*Split, error) {
	if err := c.check(2, 4); err != nil {
		return nil, err
	}
	if c.Size&(c.Size-1) != 0 {
		return nil, fmt.Errorf("ring size %d: not a power of two", c.Size)
	}
	s := &Split{
		desc: c.Desc, avail: c.Avail, used: c.Used, event: c.Avail + 4 + 2*uintptr(c.Size),
		mask: uint16(c.Size - 1), eventIdx: c.Features&FEventIdx != 0,
		nextAvail: uint16(c.Base), availIdx: uint16(c.Base), entry: 8, source: newSource(&c),
	}
	s.usedIdx = mem.Load16(s.used + 2)
	s.Disarm() // until somebody sleeps: a driver that may not notify saves a system call a burst
	return s, nil
}

// Base implements Ring.
func (s *Split) Base() uint32 { return uint32(s.nextAvail) }

// Empty implements Ring.
func (s *Split) Empty() bool { return mem.Load16Acquire(s.avail+2) == s.nextAvail }
