package datapath

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/checksum"
	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/packet"
)

// update is sum after covered words changed from old to now.
func update(sum uint16, old, now uint64) uint16 {
	for ; old != now; old, now = old>>16, now>>16 {
		sum = checksum.UpdateSum16(sum, uint16(old), uint16(now))
	}
	return sum
}

// sumField is where the packet's L4 checksum is, 0 if it has none: later fragments, and
// protocols that have none, or one that an Internet checksum's update does not serve.
// pseudo asks for one that covers the pseudo header.
func (e *editor) sumField(pseudo bool) int {
	if e.key.Frag()&flow.FragLater != 0 {
		return 0
	}
	at := 0
	switch e.key.IPProto() {
	case hdr.ProtoTCP:
		at = hdr.TCPChecksum
	case hdr.ProtoUDP, hdr.ProtoUDPLite, hdr.ProtoDCCP:
		at = hdr.UDPChecksum
	case hdr.ProtoICMPv6:
		if e.key.EthType() != hdr.TypeIPv6 {
			return 0
		}
		at = hdr.ICMPChecksum
	case hdr.ProtoICMP, hdr.ProtoIGMP:
		if pseudo || e.key.EthType() != hdr.TypeIPv4 {
			return 0
		}
		at = hdr.ICMPChecksum
	default:
		return 0
	}
	at += int(e.off.L4)
	if at+2 > int(e.off.End) {
		return 0
	}
	return at
}

// sumFits makes the checksum field part of the head, if there is one.
func (e *editor) sumFits(p *packet.Packet) bool {
	at := e.sumField(true)
	return at == 0 || p.Pull(at+2)
}

// l4sum updates the L4 checksum, if there is one, after covered words changed from old to now,
// in the pseudo header or behind it. A UDP checksum of 0 is none and stays. A partial one, which
// holds the sum of the pseudo header only, hears of that.
func (e *editor) l4sum(p *packet.Packet, old, now uint64, pseudo bool) {
	at := e.sumField(pseudo)
	if at == 0 || at+2 > int(p.HeadLen) {
		return
	}
	f := p.Head()[at : at+2]
	sum := binary.BigEndian.Uint16(f)
	if p.Flags&packet.CsumPartial != 0 && int(p.CsumStart)+int(p.CsumOffset) == at {
		if pseudo {
			binary.BigEndian.PutUint16(f, update(sum, old, now))
		}
		return
	}
	udp := e.key.IPProto() == hdr.ProtoUDP
	if udp && sum == 0 {
		return
	}
	sum = ^update(^sum, old, now)
	if udp && sum == 0 {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(f, sum)
}

// setTP changes ports, or an ICMP type and code.
func (e *editor) setTP(p *packet.Packet, v, mask uint64) bool {
	at := int(e.off.L4)
	if e.key.Frag()&flow.FragLater != 0 {
		return false
	}
	switch e.key.IPProto() {
	case hdr.ProtoTCP, hdr.ProtoUDP:
		if at+hdr.UDPLen > int(e.off.End) || !p.Pull(at+hdr.UDPLen) || e.sumField(true) != 0 && !e.sumFits(p) {
			return false
		}
	case hdr.ProtoSCTP:
		return e.setSCTP(p, v, mask)
	case hdr.ProtoICMP, hdr.ProtoICMPv6:
		if at+hdr.ICMPv6Len > int(e.off.End) || !p.Pull(at+hdr.ICMPv6Len) {
			return false
		}
		// In the key each is a word, in the packet a byte.
		v, mask = (v>>48&0xff<<8|v>>32&0xff)<<48, (mask>>48&0xff<<8|mask>>32&0xff)<<48
		h := p.Head()[at:]
		old := binary.BigEndian.Uint16(h)
		now := old&^uint16(mask>>48) | uint16(v>>48)&uint16(mask>>48)
		binary.BigEndian.PutUint16(h, now)
		e.l4sum(p, uint64(old), uint64(now), false)
		return true
	default:
		return false
	}
	h := p.Head()[at:]
	m := uint32(mask >> 32)
	old := binary.BigEndian.Uint32(h)
	now := old&^m | uint32(v>>32)&m
	binary.BigEndian.PutUint32(h, now)
	e.l4sum(p, uint64(old), uint64(now), false)
	return true
}

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	zeros      [4096]byte
)

// setSCTP changes ports. The CRC32c (RFC 9260, section 6.8) is linear, so what it changes by
// depends only on the bits that change and on how far they are from the end: the
// rest of the packet, which is the sender's to write, is not looked at. In a first
// fragment the end is elsewhere, and the CRC cannot be kept right.
func (e *editor) setSCTP(p *packet.Packet, v, mask uint64) bool {
	at := int(e.off.L4)
	if e.key.Frag()&flow.FragAny != 0 || at+hdr.SCTPLen > int(e.off.End) || !p.Pull(at+hdr.SCTPLen) {
		return false
	}
	h := p.Head()[at:]
	m := uint32(mask >> 32)
	old := binary.BigEndian.Uint32(h)
	now := old&^m | uint32(v>>32)&m
	binary.BigEndian.PutUint32(h, now)
	if p.Flags&packet.CsumPartial != 0 && int(p.CsumStart) == at {
		return true // nothing is there yet
	}
	crc := e.crcChange(old^now, int(e.off.End)-at)
	binary.LittleEndian.PutUint32(h[8:], binary.LittleEndian.Uint32(h[8:])^crc)
	return true
}

// crcChange is what the CRC of n bytes changes by when the bits diff of the first four do.
func (e *editor) crcChange(diff uint32, n int) uint32 {
	binary.BigEndian.PutUint32(e.diff[:], diff)
	crc := ^crc32.Update(^uint32(0), castagnoli, e.diff[:])
	for n -= len(e.diff); n > 0; n -= len(zeros) {
		crc = ^crc32.Update(^crc, castagnoli, zeros[:min(n, len(zeros))])
	}
	return crc
}

// setND changes neighbour discovery's fields.
func (e *editor) setND(p *packet.Packet, w uint16, v, mask uint64) bool {
	at := int(e.off.L4)
	if e.key.IPProto() != hdr.ProtoICMPv6 || e.key.Frag()&flow.FragLater != 0 {
		return false
	}
	n := 8 // bytes that word w has in the packet
	switch w {
	case flow.WordTarget:
		at += 8
	case flow.WordTargetLo:
		at += 16
	case flow.WordMPLS2:
		at, n, v, mask = at+4, 4, v<<32, mask<<32
	case flow.WordSHA, flow.WordTHA:
		at = e.ndOption(p, w)
		mask &^= 0xffff
		if at == 0 {
			return false
		}
		// The option's type and length stand before the address, so 8 bytes are the option.
		v, mask = v>>16, mask>>16
	default:
		return false
	}
	if at+n > int(e.off.End) || !p.Pull(at+n) {
		return false
	}
	var b [8]byte
	h := p.Head()[at : at+n]
	copy(b[:], h)
	old := binary.BigEndian.Uint64(b[:])
	now := old&^mask | v&mask
	binary.BigEndian.PutUint64(b[:], now)
	copy(h, b[:n])
	e.l4sum(p, old, now, false)
	return true
}

// ndOption is where the option is that word w of the key came from, 0 if there is none.
func (e *editor) ndOption(p *packet.Packet, w uint16) int {
	want := uint8(hdr.NDOptSource)
	if w == flow.WordTHA {
		want = hdr.NDOptTarget
	}
	for at := int(e.off.L4) + hdr.NDLen; at+hdr.NDOptLen <= int(e.off.End) && p.Pull(at+hdr.NDOptLen); {
		o := hdr.NDOptAt(p.Head(), at)
		if o == nil || o.Len() == 0 {
			return 0
		}
		if o.Type() == want && o.Len() == hdr.NDOptLen {
			return at
		}
		at += o.Len()
	}
	return 0
}
