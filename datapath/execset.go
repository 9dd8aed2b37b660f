package datapath

import (
	"encoding/binary"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/packet"
)

// editor edits a packet's headers as its key says. It remembers where they are while
// edits of one packet follow each other.
type editor struct {
	known bool // off and key are of the packet in hand
	off   flow.Offsets
	key   flow.Key
	diff  [4]byte // see crcChange
}

// find makes off and key those of p.
func (e *editor) find(p *packet.Packet) {
	if !e.known {
		e.off = flow.Extract(p, &e.key)
		e.known = true
	}
}

// set changes the bits mask of word w of the packet's key to v, in the headers, and
// keeps checksums right. It reports false, with the packet unchanged, when the
// header is not there. Words that are no header's are nothing to a packet.
func (e *editor) set(p *packet.Packet, w uint16, v, mask uint64) bool {
	switch w {
	case flow.WordDst:
		return field64(p, 0, v, mask&^0xffff)
	case flow.WordSrc:
		return field64(p, 6, v, mask&^0xffff)
	case flow.WordVLAN:
		return setTags(p, v, mask)
	case flow.WordMPLS, flow.WordMPLS2, flow.WordIP, flow.WordIPSrc, flow.WordIPSrcLo, flow.WordIPDst, flow.WordIPDstLo,
		flow.WordTP, flow.WordSHA, flow.WordTHA, flow.WordTarget, flow.WordTargetLo:
	default:
		return true
	}
	e.find(p)
	switch e.key.EthType() {
	case hdr.TypeIPv4:
		return e.off.L4 != 0 && e.setIPv4(p, w, v, mask)
	case hdr.TypeIPv6:
		return e.off.L4 != 0 && e.setIPv6(p, w, v, mask)
	case hdr.TypeARP, hdr.TypeRARP:
		return e.setARP(p, w, v, mask)
	case hdr.TypeMPLS, hdr.TypeMPLSMC:
		return e.setMPLS(p, w, v, mask)
	}
	return false
}

// field64 changes bits of the 8 bytes at off of the head.
func field64(p *packet.Packet, off int, v, mask uint64) bool {
	if !p.Pull(max(off+8, min(packet.MinFrame, int(p.Len)))) {
		return false
	}
	h := p.Head()[off:]
	binary.BigEndian.PutUint64(h, binary.BigEndian.Uint64(h)&^mask|v&mask)
	return true
}

// setTags changes the tags that the packet has.
func setTags(p *packet.Packet, v, mask uint64) bool {
	n := minTagged
	if mask<<32 != 0 {
		n += hdr.VLANLen
	}
	if !p.Pull(n) || !hdr.IsVLAN(hdr.TypeAt(p.Head(), 12)) || n > minTagged && !hdr.IsVLAN(hdr.TypeAt(p.Head(), 16)) {
		return false
	}
	h := p.Head()
	m := uint32(mask >> 32)
	binary.BigEndian.PutUint32(h[12:], binary.BigEndian.Uint32(h[12:])&^m|uint32(v>>32)&m)
	if m = uint32(mask); m != 0 {
		binary.BigEndian.PutUint32(h[16:], binary.BigEndian.Uint32(h[16:])&^m|uint32(v)&m)
	}
	return true
}

// setIPv4 is set for a packet whose IPv4 header is right.
func (e *editor) setIPv4(p *packet.Packet, w uint16, v, mask uint64) bool {
	l3 := int(e.off.L3)
	h := p.Head()[l3:]
	switch w {
	case flow.WordIP:
		if mask>>48&0xff != 0 {
			ipv4Word(h, 0, uint16(v>>48&0xff), uint16(mask>>48&0xff))
		}
		if mask>>40&0xff != 0 {
			ipv4Word(h, 8, uint16(v>>40&0xff)<<8, uint16(mask>>40&0xff)<<8)
		}
		return true
	case flow.WordIPSrc:
		old := binary.BigEndian.Uint64(h[12:])
		now := old&^mask | v&mask
		if !e.sumFits(p) {
			return false
		}
		h = p.Head()[l3:]
		ipv4Sum(h, old, now)
		binary.BigEndian.PutUint64(h[12:], now)
		e.l4sum(p, old, now, true)
		return true
	case flow.WordTP:
		return e.setTP(p, v, mask)
	}
	return false
}

// ipv4Word changes a 16-bit word of an IPv4 header.
func ipv4Word(h []byte, off int, v, mask uint16) {
	old := binary.BigEndian.Uint16(h[off:])
	now := old&^mask | v&mask
	binary.BigEndian.PutUint16(h[off:], now)
	ipv4Sum(h, uint64(old), uint64(now))
}

// ipv4Sum updates the header's checksum.
func ipv4Sum(h []byte, old, now uint64) {
	binary.BigEndian.PutUint16(h[10:], ^update(^binary.BigEndian.Uint16(h[10:]), old, now))
}

// setIPv6 is set for a packet whose IPv6 header is right.
func (e *editor) setIPv6(p *packet.Packet, w uint16, v, mask uint64) bool {
	l3 := int(e.off.L3)
	h := p.Head()[l3:]
	off := 8
	switch w {
	case flow.WordIP:
		first := binary.BigEndian.Uint32(h)
		m := uint32(mask>>48&0xff)<<20 | uint32(mask&0xfffff)
		first = first&^m | (uint32(v>>48&0xff)<<20|uint32(v&0xfffff))&m
		binary.BigEndian.PutUint32(h, first)
		m8 := byte(mask >> 40)
		h[7] = h[7]&^m8 | byte(v>>40)&m8
		return true
	case flow.WordIPSrc:
	case flow.WordIPSrcLo:
		off = 16
	case flow.WordIPDst:
		off = 24
	case flow.WordIPDstLo:
		off = 32
	case flow.WordTP:
		return e.setTP(p, v, mask)
	default:
		return e.setND(p, w, v, mask)
	}
	if !e.sumFits(p) {
		return false
	}
	h = p.Head()[l3:]
	old := binary.BigEndian.Uint64(h[off:])
	now := old&^mask | v&mask
	binary.BigEndian.PutUint64(h[off:], now)
	if off < 24 || !routed(h, int(e.off.L4)-l3) {
		e.l4sum(p, old, now, true)
	}
	return true
}

// routed tells whether an IPv6 packet has a routing header with segments left: then its
// destination is not the last one, and not the one that is summed (RFC 8200, section 8.1).
func routed(h []byte, l4 int) bool {
	proto := h[6]
	for at := hdr.IPv6Len; at < l4 && hdr.IsIPv6Ext(proto); {
		x := hdr.IPv6ExtAt(h, at)
		if x == nil {
			return false
		}
		if proto == hdr.ProtoRouting && x.SegmentsLeft() != 0 {
			return true
		}
		at += x.Len(proto)
		proto = x.Next()
	}
	return false
}

// setARP is set for ARP.
func (e *editor) setARP(p *packet.Packet, w uint16, v, mask uint64) bool {
	h := hdr.ARPAt(p.Head(), int(e.off.L3))
	if h == nil || !h.IsEthernetIPv4() {
		return false
	}
	switch w {
	case flow.WordIP:
		m := uint16(mask >> 56)
		h.SetOp(h.Op()&^m | uint16(v>>56)&m)
	case flow.WordIPSrc:
		a := uint64(h.SenderIP())<<32 | uint64(h.TargetIP())
		a = a&^mask | v&mask
		h.SetSender(h.SenderMAC(), uint32(a>>32))
		h.SetTarget(h.TargetMAC(), uint32(a))
	case flow.WordSHA:
		h.SetSender(h.SenderMAC()&^hdr.MAC(mask>>16)|hdr.MAC(v&mask>>16), h.SenderIP())
	case flow.WordTHA:
		h.SetTarget(h.TargetMAC()&^hdr.MAC(mask>>16)|hdr.MAC(v&mask>>16), h.TargetIP())
	default:
		return false
	}
	return true
}

// setMPLS changes label stack entries.
func (e *editor) setMPLS(p *packet.Packet, w uint16, v, mask uint64) bool {
	at := int(e.off.L3)
	if w == flow.WordMPLS2 {
		at += 8
		mask &^= 0xffffffff
	} else if w != flow.WordMPLS {
		return false
	}
	for ; mask != 0; at, v, mask = at+4, v<<32, mask<<32 {
		if !p.Pull(at + hdr.MPLSLen) {
			return false
		}
		h, m := p.Head()[at:], uint32(mask>>32)
		binary.BigEndian.PutUint32(h, binary.BigEndian.Uint32(h)&^m|uint32(v>>32)&m)
	}
	return true
}
