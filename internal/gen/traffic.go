package gen

import (
	"net"
	"net/netip"

	"github.com/gvswitch/gvswitch/packet"
)

// Traffic is what a port sends.
type Traffic struct {
	Sizes      []int // bytes of frames without CRC, taken in turn
	Flows      int   // number of different 5-tuples
	Vary       Vary  // by which of their fields
	Sequential bool  // flows in the order of their numbers; else shuffled
	TCP        bool  // in place of UDP
	V6         bool  // IPv6 in place of IPv4

	SrcMAC, DstMAC   net.HardwareAddr
	MACs             int // pairs of addresses that the flows are spread over, counting up from those
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16
	Tags             []Tag // outermost first, at most two
	Checksum         Checksum
	Check            Check
}

// Tag is a VLAN tag of all frames.
type Tag struct {
	TPID uint16
	VID  uint16
	VIDs int // how many, counting up, the flows are spread over; 0 is 1
	PCP  uint8
}

// Vary is a set of fields in which flows differ.
type Vary uint8

// The fields. Those of a set all count up with the flow's number.
const (
	VarySrcPort Vary = 1 << iota
	VaryDstPort
	VarySrc
	VaryDst
)

// Checksum says what stands in TCP's or UDP's checksum field.
type Checksum uint8

// The kinds of checksums.
const (
	ChecksumFull    Checksum = iota // the right one
	ChecksumPartial                 // to be finished by the receiver (virtio's NEEDS_CSUM)
	ChecksumNone                    // 0: none (UDP over IPv4)
)

// Check says how much of each frame that comes back is looked at.
type Check uint8

// The kinds of checks.
const (
	CheckFull Check = iota // mark, order, contents, checksums
	CheckSeq               // mark, order
	CheckNone              // frames are counted; the mark of some is looked at for their age, if there is room for it
)

const (
	etherHeader = 14
	vlanTag     = 4
	ipv4Header  = 20
	ipv6Header  = 40
	udpHeader   = 8
	tcpHeader   = 20

	udpSum = 6 // offsets of the checksums
	tcpSum = 16

	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
	etherVLAN = 0x8100
	etherQinQ = 0x88a8

	protoTCP = 6
	protoUDP = 17

	// MaxFlows is the most flows: what a mark has room for.
	MaxFlows = 1 << 24
	// maxMACs keeps the upper two bytes of addresses as they are.
	maxMACs = 1 << 24
	// etherLearn is the type of frames that only tell a switch where an address is: one for local experiments (IEEE 802).
	etherLearn = 0x88b5
)

// network is the length of the IP header.
func (t *Traffic) network() int {
	if t.V6 {
		return ipv6Header
	}
	return ipv4Header
}

// transport is the length of the TCP or UDP header.
func (t *Traffic) transport() int {
	if t.TCP {
		return tcpHeader
	}
	return udpHeader
}

func (t *Traffic) l3() int      { return etherHeader + vlanTag*len(t.Tags) }
func (t *Traffic) l4() int      { return t.l3() + t.network() }
func (t *Traffic) payload() int { return t.l4() + t.transport() }

// marked is the size from which on frames have room for a mark.
func (t *Traffic) marked() int { return t.payload() + markLen(t.TCP) }

// Reverse is the other direction of the same flows.
func (t *Traffic) Reverse() Traffic {
	r := *t
	r.SrcMAC, r.DstMAC = t.DstMAC, t.SrcMAC
	r.Src, r.Dst = t.Dst, t.Src
	r.SrcPort, r.DstPort = t.DstPort, t.SrcPort
	r.Vary &^= VarySrcPort | VaryDstPort | VarySrc | VaryDst
	for _, pair := range [][2]Vary{{VarySrcPort, VaryDstPort}, {VarySrc, VaryDst}} {
		if t.Vary&pair[0] != 0 {
			r.Vary |= pair[1]
		}
		if t.Vary&pair[1] != 0 {
			r.Vary |= pair[0]
		}
	}
	return r
}

// Validate says what is wrong with t for a port that takes frames of at most maxLen bytes.
func (t *Traffic) Validate(maxLen int) error {
	least, room := t.payload(), "its headers"
	if t.Check != CheckNone {
		least, room = t.marked(), "its headers and the mark that is checked (--check none does without)"
	}
	if len(t.Sizes) == 0 {
		return refuse("size", "", "no size")
	}
	for _, s := range t.Sizes {
		if s < least {
			return refuse("size", s, "a frame of %s has at least %d bytes for %s", t.kind(), least, room)
		}
		if s > maxLen {
			return refuse("size", s, "the port takes frames of at most %d bytes", maxLen)
		}
	}
	if t.Flows < 1 || t.Flows > MaxFlows {
		return refuse("flows", t.Flows, "must be a number from 1 to %d", MaxFlows)
	}
	if n := t.variety(); n < t.Flows {
		return refuse("flows", t.Flows, "the fields of --vary have %d values only", n)
	}
	if t.MACs < 1 || t.MACs > maxMACs {
		return refuse("macs", t.MACs, "must be a number from 1 to %d", maxMACs)
	}
	for _, tag := range t.Tags {
		if int(tag.VID)+max(tag.VIDs, 1)-1 > 4095 {
			return refuse("vlan", tag.VID, "%d numbers from there on end beyond 4095", tag.VIDs)
		}
	}
	if len(t.Tags) > 2 {
		return refuse("vlan", len(t.Tags), "at most two tags")
	}
	if t.Checksum == ChecksumNone && (t.TCP || t.V6) {
		return refuse("checksum", "none", "only UDP over IPv4 does without")
	}
	if t.V6 != t.Src.Is6() || t.V6 != t.Dst.Is6() {
		return refuse("src-ip", t.Src, "it and --dst-ip %s must be addresses of the same IP version as the frames", t.Dst)
	}
	return nil
}

func (t *Traffic) kind() string {
	name := "UDP"
	if t.TCP {
		name = "TCP"
	}
	if t.V6 {
		name += " over IPv6"
	} else {
		name += " over IPv4"
	}
	switch len(t.Tags) {
	case 1:
		name += " in a VLAN"
	case 2:
		name += " in two VLANs"
	}
	return name
}

// variety is how many different flows there can be.
func (t *Traffic) variety() int {
	n := 1
	if t.Vary&VarySrcPort != 0 {
		n = max(n, ports(t.SrcPort))
	}
	if t.Vary&VaryDstPort != 0 {
		n = max(n, ports(t.DstPort))
	}
	if t.Vary&(VarySrc|VaryDst) != 0 {
		n = MaxFlows
	}
	return n
}

// ports is how many ports there are from the first on.
func ports(first uint16) int { return 1<<16 - int(first) }

// MaxLen is the longest frame that a port takes with an MTU (0: unknown) and a receiver's limit (0: none).
func MaxLen(mtu int, limit uint32, tags int) int {
	n := packet.MaxFrame
	if mtu > 0 {
		n = min(n, mtu+etherHeader+vlanTag*tags)
	}
	if limit > 0 {
		n = min(n, int(limit))
	}
	return n
}
