package driver

import (
	"fmt"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/internal/virtio"
)

// Flags of descriptors (virtio 1.2, sections 2.7.5 and 2.8.1).
const (
	descNext     = 1
	descWrite    = 2
	descIndirect = 4
	descAvail    = 1 << 7
	descUsed     = 1 << 15
)

// Flags of event suppression (virtio 1.2, sections 2.7.6, 2.7.10 and 2.8.10).
const (
	availNoInterrupt = 1
	usedNoNotify     = 1

	eventEnable  = 0
	eventDisable = 1
	eventDesc    = 2
)

// Config describes a ring and its buffers. The memory of the ring's three parts
// (of a packed ring: descriptors, driver's and device's event suppression) is zero.
type Config struct {
	Size     int    // entries, a power of two up to virtio.MaxQueueSize
	Features uint64 // negotiated

	Desc, Avail, Used uintptr // host addresses of the parts

	// Base is where both sides start, as in vhost-user's SET_VRING_BASE. A packed ring that
	// starts anew has PackedBase.
	Base uint32

	Buffers uintptr // host address of the first buffer
	Guest   uint64  // the same as the device knows it
	Stride  uint32  // bytes from one buffer to the next

	// Of a receive ring: what of a buffer the device may write.
	Offset, Len uint32

	// Of a transmit ring. With Table not 0, frames go by indirect tables, which lie at Table
	// in the buffer of the first piece and have room for MaxPieces+1 entries; the first Header bytes
	// are an entry of their own.
	Table, Header uint32
}

// PackedBase is where a new packed ring starts: at 0 with both wrap counters set.
const PackedBase = 1<<15 | 1<<31

func (c *Config) check() error {
	if c.Size <= 0 || c.Size > virtio.MaxQueueSize || c.Size&(c.Size-1) != 0 {
		return fmt.Errorf("ring size %d: not a power of two up to %d", c.Size, virtio.MaxQueueSize)
	}
	if c.Features&virtio.FRingPacked != 0 && (int(c.Base&0x7fff) >= c.Size || int(c.Base>>16&0x7fff) >= c.Size) {
		return fmt.Errorf("base %#x: beyond the %d entries of the ring", c.Base, c.Size)
	}
	return nil
}

// Fault says how the device broke the rules.
type Fault uint8

// What a device can do wrong.
const (
	OK        Fault = iota
	BadIndex        // used more buffers than it has
	BadID           // used a buffer that it does not have
	BadLength       // wrote more than the buffer holds
	BadOrder        // used a buffer before an earlier one, against IN_ORDER
	BadMerge        // a frame in an impossible number of buffers; found by whoever reads headers
)

var faultNames = [...]string{
	"nothing wrong", "more buffers used than the device has", "a buffer used that the device does not have",
	"more written than the buffer holds", "buffers used out of order", "a frame in an impossible number of buffers",
}

// String is the fault for people.
func (f Fault) String() string { return faultNames[f] }

// Signals is what both kinds of rings have in common.
type Signals interface {
	// NeedKick tells whether the device wants to hear of what was made available since it
	// was last asked; the caller then notifies it.
	NeedKick() bool
	// Arm asks for a notification when the device has used the next buffer, and tells
	// whether there is nothing used yet; if there is, nobody will notify.
	Arm() (empty bool)
	// Disarm tells the device that the driver looks by itself.
	Disarm()
	// Broken is what the device did wrong, OK if nothing. Any thread may ask.
	Broken() Fault
	// Break makes the ring one that does nothing any more.
	Break(Fault)
}

// broken is what is wrong with a ring; control code looks at it from another thread.
type broken struct{ fault uint32 }

// Broken implements Signals.
func (b *broken) Broken() Fault { return Fault(atomic.LoadUint32(&b.fault)) }

// Break implements Signals.
func (b *broken) Break(f Fault) { atomic.StoreUint32(&b.fault, uint32(f)) }
