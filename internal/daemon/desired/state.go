package desired

import (
	"net"
	"time"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// State is the switch that the rows ask for.
type State struct {
	Root    ovsdb.UUID // the Open_vSwitch row, zero if there is none
	NextCfg int64      // Open_vSwitch.next_cfg
	Threads *Threads   // nil: wrong, keep what is there
	Flows   *Flows     // nil: wrong, keep what is there
	Bridges []*Bridge  // by name
	Report  Report     // of the Open_vSwitch row
}

// Report is what is to be said about a row: what could not be done, and what is not done.
type Report struct {
	Errors, Warnings []string
}

// SleepMode is when poll threads sleep, from other_config:pmd-sleep-max.
type SleepMode int

// The sleep modes.
const (
	SleepAdaptive SleepMode = iota // not set: until a queue has something
	SleepNever                     // 0
	SleepTimed                     // up to SleepMax
)

// Threads says how queues are polled, from Open_vSwitch.other_config.
type Threads struct {
	CPUs    []int // pmd-cpu-mask, in order; empty: one thread, not pinned
	Sleep   SleepMode
	Max     time.Duration // longest sleep of SleepTimed
	Assign  string        // pmd-rxq-assign: "cycles", "roundrobin" or "group"
	Isolate bool          // pmd-rxq-isolate
}

// Flows bounds what the poll threads keep of translated flows, from Open_vSwitch.other_config.
type Flows struct {
	Limit   int           // flow-limit: how many each thread has at most; 0 if not set
	MaxIdle time.Duration // max-idle: how long one without packets stays; 0 if not set
}

// Bridge is a Bridge row.
type Bridge struct {
	UUID    ovsdb.UUID
	Name    string
	Refused string        // why it cannot be made at all, "" if it can
	Config  *BridgeConfig // nil: wrong, keep what is there
	Secure  bool          // fail_mode=secure, whatever is wrong with the rest
	Ports   []*Port       // by name; exactly one is Local unless the bridge is refused
	Bonds   []*Bond       // by name
	Mirrors []*Mirror     // those that have an output, by name
	Report  Report

	DatapathID string // other_config:datapath-id as 16 hex digits, "" if not set
}

// BridgeConfig is what can change while a bridge runs.
type BridgeConfig struct {
	MACTableSize int
	MACAging     time.Duration
	ForwardBPDU  bool
	MAC          net.HardwareAddr // other_config:hwaddr, nil if not set
	Secure       bool             // fail_mode=secure: no flow at the beginning; otherwise one with NORMAL
	FlowFile     string           // other_config:flow-file, "" if not set
	Tables       []Table          // flow_tables, by number
	FloodVLANs   []int            // flood_vlans
}

// Table is a Flow_Table row, as one bridge has it.
type Table struct {
	Number uint8
	Name   string // "" if it has none
	Limit  int    // flow_limit: how many flows there may be, 0: any number
}

// Port is a Port row with its one Interface.
type Port struct {
	UUID   ovsdb.UUID // zero if the port is only implied (a bridge's own)
	Name   string
	Local  bool        // the bridge's own port
	Config *PortConfig // nil: wrong, keep what is there
	Report Report
	Iface  *Interface
	Bond   *Bond // that the port is one member of; nil: none

	// Refused are interfaces that the port names but that cannot be used.
	Refused []*Interface
}

// PortConfig is what can change while a port runs.
type PortConfig struct {
	VLANMode  string // "access", "trunk", "native-tagged", "native-untagged" or "dot1q-tunnel"
	Tag       int    // -1 if none
	Trunks    []int  // empty: all
	CVLANs    []int  // of dot1q-tunnel, empty: all
	QinQType  uint16 // of dot1q-tunnel, the EtherType of its tag
	Protected bool
	Priority  string // other_config:priority-tags, "never", "if-nonzero" or "always"
}

// Interface is an Interface row.
type Interface struct {
	UUID    ovsdb.UUID // zero if only implied
	Name    string
	Refused string // why it cannot be used, "" if it can
	Report  Report

	Kind    Kind
	Options map[string]string // for the device, with names as its provider has them
	MTU     int               // mtu_request, 0 if not set
	MAC     string            // "" if not set
	KeepMAC bool              // a wrong one was asked for: the device keeps its own
	Peer    string            // of a patch port
	SockDir string            // directory of sockets that have no path of their own

	Police        Policing
	OFPortRequest int         // 0 if not set
	OFPortBefore  int         // Interface.ofport as it stands, 0 if none
	Affinity      map[int]int // rx queue to core, from other_config:pmd-rxq-affinity
	KeepAffinity  bool        // it is wrong, keep what is there
	LACP          MemberLACP

	// Claims are the things outside the switch that only one port may have, e.g. "device eth0" and "socket /run/x".
	Claims []string
}

// Kind says what provides a device.
type Kind string

// The kinds of devices.
const (
	System      Kind = "system"            // a network device of the kernel
	Internal    Kind = "internal"          // a device of the host, made by the switch
	Tap         Kind = "tap"               //
	Veth        Kind = "veth"              // pair made by the switch
	Patch       Kind = "patch"             // leads to another bridge, no device
	VhostServer Kind = "vhost-user"        // the switch listens
	VhostClient Kind = "vhost-user-client" // the switch connects
	VirtioUser  Kind = "virtio-user"       // the switch is the driver of a network card
	Dummy       Kind = "dummy"             // for tests
)

// typeKinds maps Interface.type to a kind. "vhost-user" with options:mode=client is a client, see iface.go.
var typeKinds = map[string]Kind{
	"":                    System,
	"system":              System,
	"afpacket":            System,
	"internal":            Internal,
	"tap":                 Tap,
	"veth":                Veth,
	"patch":               Patch,
	"dpdkvhostuser":       VhostServer,
	"vhost-user":          VhostServer,
	"dpdkvhostuserclient": VhostClient,
	"vhost-user-client":   VhostClient,
	"virtio-user":         VirtioUser,
	"dummy":               Dummy,
	"dummy-internal":      Dummy,
}

// InterfaceTypes lists what Interface.type may be, for Open_vSwitch.iface_types.
func InterfaceTypes() []string {
	var names []string
	for name := range typeKinds {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// DatapathTypes lists what Bridge.datapath_type may be. They all mean this datapath.
func DatapathTypes() []string { return []string{"netdev", "system"} }
