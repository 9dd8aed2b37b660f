package virtio

import (
	"fmt"

	"github.com/gvswitch/gvswitch/internal/mem"
)

// MaxQueueSize is the largest ring (virtio 1.2, section 2.7).
const MaxQueueSize = 32768

// MaxChains is the most chains that one Gather holds: a burst, and what a burst of
// big packets needs in merged buffers at a time.
const MaxChains = 64

// spareSegs is how many segments may be gathered before the next chain, which may be
// as long as the ring, has to wait: a burst of 64 KiB packets from Linux.
const spareSegs = 32 * 20

// descriptor flags (virtio 1.2, section 2.7.5).
const (
	descNext     = 1
	descWrite    = 2
	descIndirect = 4
)

// flags of the rings (sections 2.7.6, 2.7.8).
const (
	availNoInterrupt = 1
	usedNoNotify     = 1
)

// Seg is a piece of a chain: n bytes at a host address.
type Seg struct {
	Addr uintptr
	Len  uint32
}

// Fault says what is wrong with a chain.
type Fault uint8

// What can be wrong with a chain. Nothing of a faulty chain but its head may be used.
const (
	OK         Fault = iota
	BadChain         // loop, index out of range, wrong direction, bad table, empty
	BadAddress       // a buffer outside the driver's memory
	BadHead          // not even a head: there is nothing to return
)

// Chain is one buffer that the driver made available.
type Chain struct {
	Head  uint16 // names it in the used ring
	Fault Fault
	Count uint16 // segments
	First uint32 // index of the first in Segs
	Len   uint32 // bytes in all segments
}

// SplitConfig describes a split virtqueue to the device side.
type SplitConfig struct {
	Size     int     // entries, a power of two up to MaxQueueSize
	Desc     uintptr // host addresses of the three parts; all bytes of SplitSizes
	Avail    uintptr // are mapped there
	Used     uintptr
	Features uint64   // what the driver acknowledged
	Mem      *mem.Map // the driver's memory, for the addresses in descriptors
	Base     uint16   // the available entry to start with

	// DeviceWrites says what the chains are for: false, to be read by the device
	// (a driver's transmit queue); true, to be written by it (its receive queue).
	DeviceWrites bool
}

// Split is the device side of a split virtqueue.
type Split struct {
	desc, avail, used uintptr
	event             uintptr // where the driver says when to notify it (used_event)
	mem               *mem.Map
	region            mem.Region // the region hit last
	size              uint32
	mask              uint16
	wantFlags         uint16 // of a plain descriptor in the right direction
	guess             uint16 // the descriptor that is probably next
	eventIdx          bool
	indirect          bool

	availIdx  uint16 // the driver's index as read last
	nextAvail uint16 // entry to take next
	usedIdx   uint16 // entry to use next
	published uint16 // used index that the driver can see
	signalled uint16 // used index when the driver was last notified
	signalOK  bool   // signalled means something

	n      int // chains gathered and not yet used
	nsegs  int
	Chains [MaxChains]Chain
	Segs   []Seg // of all gathered chains
}

// SplitSizes is the length in bytes of the three parts of a ring, with the
// event index words (virtio 1.2, section 2.7).
func SplitSizes(size int) (desc, avail, used int) { return 16 * size, 6 + 2*size, 6 + 8*size }

// NewSplit makes the device side of a ring. The used index continues where the ring's
// memory says it stands.
func NewSplit(c SplitConfig) (*Split, error) {
	if c.Size <= 0 || c.Size > MaxQueueSize || c.Size&(c.Size-1) != 0 {
		return nil, fmt.Errorf("ring size %d: not a power of two up to %d", c.Size, MaxQueueSize)
	}
	if c.Desc%16 != 0 || c.Avail%2 != 0 || c.Used%4 != 0 {
		return nil, fmt.Errorf("ring at %#x, %#x, %#x: parts must be aligned to 16, 2 and 4 bytes", c.Desc, c.Avail, c.Used)
	}
	s := &Split{
		desc: c.Desc, avail: c.Avail, used: c.Used, event: c.Avail + 4 + 2*uintptr(c.Size),
		mem: c.Mem, size: uint32(c.Size), mask: uint16(c.Size - 1),
		eventIdx: c.Features&FEventIdx != 0, indirect: c.Features&FIndirectDesc != 0,
		nextAvail: c.Base, availIdx: c.Base,
		Segs: make([]Seg, c.Size+spareSegs),
	}
	if c.DeviceWrites {
		s.wantFlags = descWrite
	}
	s.usedIdx = mem.Load16(s.used + 2)
	s.published = s.usedIdx
	s.Disarm() // until somebody sleeps: a driver that may not notify saves a system call a burst
	return s, nil
}

// NextAvail is the available entry that would be taken next: a ring's base, to be
// given to whoever takes over.
func (s *Split) NextAvail() uint16 { return s.nextAvail }

// Size is the number of entries.
func (s *Split) Size() int { return int(s.size) }
