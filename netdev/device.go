package netdev

import (
	"net"

	"github.com/gvswitch/gvswitch/packet"
)

// Device is a port's device: what a provider's Open returns.
type Device interface {
	// Info is the device's present state. It is cheap and never blocks.
	Info() Info
	// Queues are the queues in use now. The slices are never changed in place;
	// a new state is new slices, announced by Host.Changed. Rx may be empty (no
	// guest attached). Tx empty means that nothing can be sent: packets are
	// dropped as TxNotReady.
	Queues() (rx []RxQueue, tx []TxQueue)
	// Close ends the device, see the life cycle above.
	Close() error
}

// RxQueue is a source of frames.
type RxQueue interface {
	// Recv takes up to packet.MaxBurst frames into b.Pkts[0:n] and returns n. When n
	// is not 0, Release follows. Frames that cannot be taken are counted in st.
	Recv(b *packet.Burst, st *RxStats) int
	// Release gives what the last Recv lent back to its owner.
	Release()

	// FD is a descriptor that becomes readable when frames arrive at an armed,
	// empty queue; -1 if there is none, and then the thread that polls this
	// queue must not sleep. It does not change while the queue is in Queues.
	FD() int
	// Arm asks for a wake-up by FD when frames arrive and reports whether the queue is
	// empty: if not, the thread must not sleep. It is called before each sleep.
	Arm() (empty bool)
	// Disarm ends Arm's effect, drains FD, and is called after each sleep.
	Disarm()
}

// TxQueue is a sink of frames.
type TxQueue interface {
	// Send sends the packets b.Pkts[i] for each i in list, in this order, and counts
	// them in st. Packets have been made to fit the queue's TxCaps.
	// Send may trim or Pull its packets but not change what they say.
	Send(b *packet.Burst, list []uint16, st *TxStats)
	// Caps is what the receiver can take. It does not change while the queue is
	// in Queues.
	Caps() TxCaps
}

// TxCaps is what a receiver takes as it is; whatever it lacks is done in software
// before Send.
type TxCaps struct {
	Csum   bool   // frames with CsumPartial
	TSO4   bool   // GSOTCPv4
	TSO6   bool   // GSOTCPv6
	ECN    bool   // GSO frames with ECN
	USO    bool   // GSOUDPL4
	MaxLen uint32 // longest frame in bytes, GSO or not; 0 = packet.MaxFrame
}

// Info describes a device to operators and to the datapath.
type Info struct {
	Link    bool              // frames can pass
	MTU     int               // bytes of IP packet, 0 if the device has no idea
	MAC     net.HardwareAddr  // the device's own, nil if none
	Speed   uint64            // bit/s, 0 if unknown
	Duplex  string            // "full", "half" or ""
	IfIndex int               // kernel's, 0 if none
	Driver  string            // e.g. "vhost-user", "tun", "veth"
	Fault   string            // why the device does not work, "" if it does
	Missed  uint64            // frames lost before a queue was asked for them, such as those that the kernel had no room for, since Open
	Status  map[string]string // keys of the Interface row's status column; no counters, each change is written
}

// Adjuster is a device whose settings can change while it runs.
type Adjuster interface {
	// Adjust applies new options, or fails and leaves the old ones in force.
	// ErrReopen says that only closing and opening again will do.
	Adjust(o Options) error
}

// Announcer is a device whose guest can be made known to the network anew, for instance
// when the network around the switch has changed.
type Announcer interface {
	// Announce asks for it; it does not wait until it has happened.
	Announce() error
}

// Forgetter is a device that keeps something in Options.StateDir.
type Forgetter interface {
	// Forget tells, before Close, that the port was deleted and not only taken down: nothing
	// needs to be kept.
	Forget()
}

// Faulter is a device whose memory may vanish under a poll thread.
type Faulter interface {
	// OwnsAddr tells whether a fault at addr was in this device's memory. Called on the
	// poll thread.
	OwnsAddr(addr uintptr) bool
	// Fault takes the device out of service for the reason given; it detaches its
	// peer and reports by Info().Fault. Called by control code, which logs it.
	Fault(reason string)
}

// Host is what a device may ask of the switch. Its methods are for the device's
// control goroutines, never for Recv, Release or Send, and must not be called from
// within Open, Info, Queues, Adjust or Close.
type Host interface {
	// Changed announces that d's Info or Queues changed, and returns when no poll
	// thread uses what it saw before. For a device that is not attached (yet, or
	// any more) it returns at once.
	Changed(d Device)
	// Inject lets frame enter the switch as if d had received it, by way of a
	// poll thread. The frame is copied.
	Inject(d Device, frame []byte)
}
