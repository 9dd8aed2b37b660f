package virtio

import (
	"fmt"

	"github.com/gvswitch/gvswitch/internal/mem"
)

// MaxQueueSize is the largest ring (virtio 1.2, sections 2.7 and 2.8).
const MaxQueueSize = 32768

// MaxChains is the most chains that one Gather holds: a burst, and what a burst of
// big packets needs in merged buffers at a time.
const MaxChains = 64

// spareSegs is how many segments may be gathered before the next chain, which may be
// as long as the ring, has to wait: a burst of 64 KiB packets from Linux.
const spareSegs = 32 * 20

// descriptor flags (virtio 1.2, sections 2.7.5 and 2.8.1).
const (
	descNext     = 1
	descWrite    = 2
	descIndirect = 4
	// noFlags is what no descriptor has that is fit for anything.
	noFlags = 0xffff
)

// Seg is a piece of a chain: n bytes at a host address.
type Seg struct {
	Addr uintptr
	Len  uint32
}

// Fault says what is wrong with a chain.
type Fault uint8

// What can be wrong with a chain. Nothing of a faulty chain may be used.
const (
	OK         Fault = iota
	BadChain         // loop, index out of range, wrong direction, bad table, empty
	BadAddress       // a buffer outside the driver's memory
	BadHead          // not even a head: there is nothing to return
	BadTable         // an indirect table outside the driver's memory
)

// Chain is one buffer that the driver made available.
type Chain struct {
	Head    uint16 // names it in the ring
	Count   uint16 // segments
	Slots   uint16 // of a packed ring: descriptors that it takes
	First   uint32 // index of the first in Segs
	Len     uint32 // bytes in all segments
	Written uint32 // for Use: bytes written to it (to what may be written of it), 0 for one that was only read
	Fault   Fault
	Reads   uint16 // of a Mixed ring: how many segments, the first ones, are to be read
}

// Batch is the chains that a ring has gathered. Its owner may cut Segs in place.
type Batch struct {
	Chains [MaxChains]Chain
	Segs   []Seg             // of all gathered chains
	Missed [MaxChains]uint64 // of a chain with BadAddress or BadTable: the first address that was not there
	n      int               // chains gathered and not yet used
	nsegs  int
}

// Ring is the device side of a virtqueue of any kind. It belongs to one thread at a time.
type Ring interface {
	// Held is where Gather puts the chains. It is always the same.
	Held() *Batch

	// Gather makes up to want chains (MaxChains at most) available in
	// Held().Chains[0:n] and returns n. Chains gathered before and not used yet come first.
	Gather(want int) int

	// Use returns the first n gathered chains to the driver, in this order, each with
	// Written bytes written to it, and shows them to the driver. What was gathered beyond them is put back.
	// The segments must not be touched after that.
	Use(n int)

	// NeedNotify tells whether the driver wants to hear of what was used since
	// it was last notified; the caller then does so (virtio 1.2, sections 2.7.7 and 2.8.14).
	NeedNotify() bool

	// Arm asks the driver to notify the device of new chains, and reports whether
	// there are none yet; if there are, nobody will.
	Arm() (empty bool)

	// Disarm tells the driver that the device looks by itself.
	Disarm()

	// Empty tells whether the driver has made nothing available beyond what was used.
	Empty() bool

	// Base is where the ring stands: what whoever takes over has to know, as in
	// vhost-user's GET_VRING_BASE. A split ring's is the next available entry; a
	// packed one's has that (15 bits), its wrap counter, and both for the used side.
	Base() uint32

	// Remap replaces Config.Mem and Config.Tables. What is gathered was found in
	// the old ones: it belongs between Use and Gather.
	Remap(buffers, tables *mem.Map)
}

// Config describes a virtqueue to the device side. The three parts are, of a packed
// ring, its descriptors and the event suppression areas of driver and device.
type Config struct {
	Size     int     // entries, up to MaxQueueSize; of a split ring a power of two
	Desc     uintptr // host addresses of the three parts; all bytes of Sizes
	Avail    uintptr // are mapped there
	Used     uintptr
	Features uint64   // what the driver acknowledged
	Mem      *mem.Map // the driver's memory, for the addresses in descriptors
	Tables   *mem.Map // the same for indirect tables, which are read whatever the ring is for; nil = Mem
	Base     uint32   // where to start, see Ring.Base

	// DeviceWrites says what the chains are for: false, to be read by the device
	// (a driver's transmit queue); true, to be written by it (its receive queue).
	DeviceWrites bool
	// Mixed says that a chain has both, first what is to be read and then what is
	// to be written (a control queue). DeviceWrites then means nothing.
	Mixed bool
}

// New makes the device side of the ring that the features ask for.
func New(c Config) (Ring, error) {
	packed, batches := c.Features&FRingPacked != 0, batches(&c)
	switch {
	case packed && batches:
		return NewPackedInOrder(c)
	case packed:
		return NewPacked(c)
	case batches:
		return NewSplitInOrder(c)
	}
	return NewSplit(c)
}

// Sizes is the length in bytes of the three parts of a ring.
func Sizes(features uint64, size int) (desc, avail, used int) {
	if features&FRingPacked != 0 {
		return 16 * size, 4, 4
	}
	return 16 * size, 6 + 2*size, 6 + 8*size
}

// check looks at the sizes and alignments (virtio 1.2, sections 2.7 and 2.8).
func (c *Config) check(avail, used uintptr) error {
	if c.Size <= 0 || c.Size > MaxQueueSize {
		return fmt.Errorf("ring size %d: want 1 to %d", c.Size, MaxQueueSize)
	}
	if c.Desc%16 != 0 || c.Avail%avail != 0 || c.Used%used != 0 {
		return fmt.Errorf("ring at %#x, %#x, %#x: parts must be aligned to 16, %d and %d bytes", c.Desc, c.Avail, c.Used, avail, used)
	}
	return nil
}
