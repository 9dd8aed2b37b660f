package datapath

import (
	"log/slog"
	"time"
)

// Config is what a datapath needs from the start.
type Config struct {
	Log *slog.Logger // nil: slog.Default()
}

// SleepMode says what a poll thread does when it finds no packets.
type SleepMode uint8

const (
	// Adaptive polls for a short time, then sleeps until a device wakes it.
	Adaptive SleepMode = iota
	// BusyPoll never sleeps (pmd-sleep-max=0).
	BusyPoll
	// Timed sleeps for a time that grows up to SleepMax (pmd-sleep-max=n).
	Timed
)

// Assign is how rx queues are dealt to threads (pmd-rxq-assign).
type Assign uint8

const (
	// Cycles sorts the queues by their measured load and deals them out up and
	// down the threads. It is the default.
	Cycles Assign = iota
	// Group gives each queue, the most loaded first, to the least loaded thread.
	Group
	// RoundRobin deals them out in order of name, without regard to load.
	RoundRobin
)

// ThreadConfig says which poll threads there are and how they behave.
type ThreadConfig struct {
	// CPUs has a core for each thread, which is pinned to it. None: one thread
	// that is not pinned.
	CPUs      []int
	SleepMode SleepMode
	SleepMax  time.Duration // with Timed
	Assign    Assign
	// RxqIsolate keeps other queues off the threads that queues are pinned to
	// by a port's Affinity (pmd-rxq-isolate, in OVS true unless set otherwise).
	RxqIsolate bool
}

// Defaults of a BridgeConfig's zero fields, as in Open vSwitch.
const (
	DefaultMACTableSize = 8192
	DefaultMACAging     = 300 * time.Second
	// MaxMACTableSize is the largest table that can be asked for. It has 48 MiB.
	MaxMACTableSize = 1_000_000
)

// BridgeConfig is the settings of a bridge.
type BridgeConfig struct {
	MACTableSize int           // addresses at most; 0: DefaultMACTableSize
	MACAging     time.Duration // 0: DefaultMACAging
	ForwardBPDU  bool          // forward reserved multicast addresses
	FailMode     FailMode      // what flows the bridge begins with
	FloodVLANs   []int         // VLANs in which nothing is learned and all is flooded
}

// FailMode is what a bridge does when nobody tells it anything (the column fail_mode).
type FailMode uint8

const (
	// FailStandalone: it begins with one flow, priority 0 and actions=NORMAL.
	FailStandalone FailMode = iota
	// FailSecure: it begins without flows, and so drops everything.
	FailSecure
)

// VLANMode is how a port treats VLAN tags, as in the vlan_mode column of
// ovs-vswitchd.conf.db(5).
type VLANMode uint8

const (
	// VLANAuto is VLANAccess if the port has a Tag, else VLANTrunk.
	VLANAuto VLANMode = iota
	// VLANAccess carries exactly the VLAN Tag, and without a tag.
	VLANAccess
	// VLANTrunk carries the VLANs in Trunks, all if it is empty, each frame
	// with its tag; frames without a tag are VLAN 0.
	VLANTrunk
	// VLANNativeTagged is a trunk where frames that come without a tag
	// belong to VLAN Tag.
	VLANNativeTagged
	// VLANNativeUntagged is VLANNativeTagged, and frames of that VLAN
	// leave without a tag.
	VLANNativeUntagged
	// VLANDot1qTunnel carries the frames of a customer in VLAN Tag: a frame that comes gets a tag
	// around those that it has, of EtherType QinQType, and loses it when it leaves by such a port. CVLANs are the
	// customer's VLANs that pass, all if it is empty; frames without a tag are VLAN 0.
	VLANDot1qTunnel
)

// PriorityTags says when a frame that belongs to no VLAN at an output keeps an
// 802.1Q header for its priority (other_config:priority-tags).
type PriorityTags uint8

const (
	// PriorityNever omits the header.
	PriorityNever PriorityTags = iota
	// PriorityIfNonzero keeps or makes one if the frame had a priority.
	PriorityIfNonzero
	// PriorityAlways sends every frame with one.
	PriorityAlways
)

// LocalOFPort is the number of a bridge's own port.
const LocalOFPort = 65534

// PortConfig is the settings of a port.
type PortConfig struct {
	OFPort       uint16 // 0: choose one
	VLANMode     VLANMode
	Tag          int    // VLAN 0..4095, -1: none
	Trunks       []int  // VLANs, none: all
	CVLANs       []int  // with VLANDot1qTunnel
	QinQType     uint16 // with VLANDot1qTunnel: 0x88a8 or 0x8100, 0: 0x88a8
	PriorityTags PriorityTags
	AdminUp      bool
	Peer         string      // name of the patch port at the other end; the port then takes no device
	Affinity     map[int]int // rx queue -> core
	NoFlood      bool        // is left out of floods
	Protected    bool        // exchanges nothing with other protected ports
	Police       Policing
}
