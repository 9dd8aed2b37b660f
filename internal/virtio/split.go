package virtio

import "github.com/gvswitch/gvswitch/internal/mem"

// flags of the rings (virtio 1.2, sections 2.7.6, 2.7.8).
const (
	availNoInterrupt = 1
	usedNoNotify     = 1
)

// Split is the device side of a split virtqueue.
type Split struct {
	desc, avail, used uintptr
	event             uintptr // where the driver says when to notify it (used_event)
	mem, tables       *mem.Map
	region            mem.Region // the region of mem hit last
	size              uint32
	mask              uint16
	wantFlags         uint16 // of a plain descriptor in the right direction, noFlags in a mixed ring
	guess             uint16 // the descriptor that is probably next
	eventIdx          bool
	indirect          bool
	mixed             bool // as Config.Mixed

	availIdx  uint16 // the driver's index as read last
	nextAvail uint16 // entry to take next
	usedIdx   uint16 // entry to use next
	signalled uint16 // used index when the driver was last notified
	signalOK  bool   // signalled means something

	Batch
}

// NewSplit makes the device side of a ring. The used index continues where the ring's
// memory says it stands.
func NewSplit(c Config) (*Split, error) {
	if err := c.check(2, 4); err != nil {
		return nil, err
	}
	s := &Split{
		desc: c.Desc, avail: c.Avail, used: c.Used, event: c.Avail + 4 + 2*uintptr(c.Size),
		mem: c.Mem, size: uint32(c.Size), mask: uint16(c.Size - 1),
		eventIdx: c.Features&FEventIdx != 0, indirect: c.Features&FIndirectDesc != 0,
		nextAvail: uint16(c.Base), availIdx: uint16(c.Base),
		Batch: Batch{Segs: make([]Seg, c.Size+spareSegs)},
	}
	if c.DeviceWrites {
		s.wantFlags = descWrite
	}
	if c.Mixed {
		s.mixed, s.wantFlags = true, noFlags
	}
	if s.tables = c.Tables; s.tables == nil {
		s.tables = c.Mem
	}
	s.usedIdx = mem.Load16(s.used + 2)
	s.Disarm() // until somebody sleeps: a driver that may not notify saves a system call a burst
	return s, nil
}

// Held implements Ring.
func (s *Split) Held() *Batch { return &s.Batch }

// Remap implements Remapper.
func (s *Split) Remap(buffers, tables *mem.Map) {
	s.mem, s.tables, s.region = buffers, tables, mem.Region{}
}

// Base implements Ring.
func (s *Split) Base() uint32 { return uint32(s.nextAvail) }

// Empty implements Ring.
func (s *Split) Empty() bool { return mem.Load16Acquire(s.avail+2) == s.nextAvail }
