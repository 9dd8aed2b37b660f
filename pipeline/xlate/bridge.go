package xlate

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// Bridge is a bridge as translation sees it. It does not change while a Run lasts. Its methods are called
// on poll threads: they do not block and allocate nothing.
type Bridge interface {
	Name() string
	Tables() *rules.Tables
	// Port is the port with an OpenFlow number.
	Port(of uint32) (Port, bool)
	// Ports are the OpenFlow numbers of all ports, ascending. They are not to be changed.
	Ports() []uint32
	// Normal answers q as the NORMAL action does. It gets and keeps nothing of q.
	Normal(q *Normal)
	// Mirrors tells whether the bridge has mirrors at all.
	Mirrors() bool
	// Mirror answers q; false: no mirror is left that wants the packet.
	Mirror(q *Mirror) bool
}

// Port is a port of a bridge.
type Port struct {
	ID   uint32 // in the datapath
	OF   uint32 // OpenFlow number
	Name string
	// Up tells whether it sends: administratively up, and with a link.
	Up bool
	// NoLink says that its device has no carrier: it may be sent to, but groups and bundles do not
	// count on it.
	NoLink bool
	// NoFwd, NoFlood and NoRecv are the port's OpenFlow configuration: it does not send, does
	// not take part in FLOOD, drops what it receives.
	NoFwd, NoFlood, NoRecv bool
	// Reserved says that the port is a mirror's output: what comes in by it is dropped.
	Reserved bool
	// Peer is the bridge behind a patch port, PeerOF the number of the port there. nil: no patch.
	Peer   Bridge
	PeerOF uint32
}

// Normal is a question to a bridge's NORMAL action, and the answer.
type Normal struct {
	InOF  uint32    // the port that the packet came in by
	Key   *flow.Key // the packet as it is now; read only
	Learn bool      // learn its source address
	Note  bool      // say in Text what was found

	Mask *flow.Key // gets the bits of Key that the answer depends on
	Outs []NormalOut
	Why  packet.DropReason // if there are no Outs
	Tags uint64            // of rules.FreeTags: when these change, the answer may
	Text string            // for people; only if Note
}

// NormalOut is a port that NORMAL sends to.
type NormalOut struct {
	OF uint32
	// VLAN is what leaves there: the packet's tags, as in the word flow.WordVLAN of a key.
	VLAN uint64
	// Pushed says that VLAN's outer tag comes on top of all that the packet has; otherwise its
	// tags stand for the first two.
	Pushed bool
	// Max is how many bytes of the packet are sent at most, 0: all.
	Max uint32
}
