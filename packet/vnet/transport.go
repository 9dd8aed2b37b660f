package vnet

import (
	"encoding/binary"

	"github.com/gvswitch/gvswitch/packet"
)

const (
	protoTCP = 6
	protoUDP = 17

	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
	etherVLAN = 0x8100
	etherQinQ = 0x88a8

	maxTags       = 2 // as many as MaxFrame has room for
	maxExtensions = 8 // IPv6 extension headers; more than any sender puts before TCP
)

// transport checks that p is the given IP version and protocol, not a
// fragment, with the transport header at CsumStart and its checksum field at
// CsumOffset. It returns the length of all headers, which it pulls into the head,
// or 0.
func transport(p *packet.Packet, version int, proto uint8) int {
	l3, ok := network(p, version)
	if !ok {
		return 0
	}
	l4 := 0
	if version == 4 {
		l4 = overIPv4(p, l3, proto)
	} else {
		l4 = overIPv6(p, l3, proto)
	}
	if l4 == 0 || l4 != int(p.CsumStart) {
		return 0
	}
	if proto == protoUDP {
		if p.CsumOffset != 6 || !p.Pull(l4+8) {
			return 0
		}
		return l4 + 8
	}
	if p.CsumOffset != 16 || !p.Pull(l4+20) {
		return 0
	}
	n := int(p.Head()[l4+12]>>4) * 4
	if n < 20 || !p.Pull(l4+n) {
		return 0
	}
	return l4 + n
}

// network finds the IP header behind Ethernet and up to two tags.
func network(p *packet.Packet, version int) (int, bool) {
	if !p.Pull(packet.MinFrame) {
		return 0, false
	}
	off := 12
	for range maxTags {
		if t := binary.BigEndian.Uint16(p.Head()[off:]); t != etherVLAN && t != etherQinQ {
			break
		}
		off += 4
		if !p.Pull(off + 2) {
			return 0, false
		}
	}
	t := binary.BigEndian.Uint16(p.Head()[off:])
	return off + 2, version == 4 && t == etherIPv4 || version == 6 && t == etherIPv6
}

func overIPv4(p *packet.Packet, l3 int, proto uint8) int {
	if !p.Pull(l3 + 20) {
		return 0
	}
	h := (*[20]byte)(p.Head()[l3:])
	n := int(h[0]&15) * 4
	fragment := binary.BigEndian.Uint16(h[6:]) &^ 0x4000 // all but DF
	if h[0]>>4 != 4 || n < 20 || h[9] != proto || fragment&0x3fff != 0 || !p.Pull(l3+n) {
		return 0
	}
	return l3 + n
}

func overIPv6(p *packet.Packet, l3 int, proto uint8) int {
	if !p.Pull(l3 + 40) {
		return 0
	}
	h := p.Head()[l3:]
	if h[0]>>4 != 6 {
		return 0
	}
	next, off := h[6], l3+40
	for range maxExtensions {
		if next == proto {
			return off
		}
		// Hop-by-hop, routing and destination options may stand before a segmented
		// header; behind a fragment header nothing can be segmented.
		if next != 0 && next != 43 && next != 60 || !p.Pull(off+2) {
			return 0
		}
		h = p.Head()[off:]
		next, off = h[0], off+8+int(h[1])*8
	}
	return 0
}
