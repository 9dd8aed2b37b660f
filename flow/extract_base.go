package flow

import (
	"encoding/binary"

	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/packet"
)

// commonLen is how far the short way looks: Ethernet with a tag, IPv4 and TCP. The buffer is longer than
// that, whatever the head's length is; what counts is what has been compared with it.
const commonLen = hdr.EthernetLen + hdr.VLANLen + hdr.IPv4Len + hdr.TCPLen

// ExtractBase is Extract for a key whose words behind the base are known to be zero: it does not
// touch them.
//
// TCP and UDP in whole IP packets without options, behind at most one tag, which is nearly all there
// is, are read here, each word of the key by a load or two. All else is extract's.
func ExtractBase(p *packet.Packet, k *Key) Offsets {
	h := p.Room()
	if len(h) < commonLen {
		return extract(p, k)
	}
	b := (*[commonLen]byte)(h)
	have := uint32(p.HeadLen)
	src, tag, l3 := link((*[hdr.EthernetLen + hdr.VLANLen]byte)(b[:]))
	if uint16(src) != hdr.TypeIPv4 {
		return notIPv4(p, k)
	}
	ip := (*[hdr.IPv4Len + hdr.TCPLen]byte)(b[l3:])
	first := binary.BigEndian.Uint64(ip[0:8]) // version, IHL, TOS, length; id, fragment
	total := uint32(first>>32) & 0xffff
	if first>>56 != 0x45 || first&(hdr.IPv4MF|hdr.IPv4FragMask) != 0 || total > p.Len-uint32(l3) {
		return extract(p, k)
	}
	tp := uint64(binary.BigEndian.Uint32(ip[20:24])) << 32
	switch ip[9] {
	case hdr.ProtoTCP:
		if total < hdr.IPv4Len+hdr.TCPLen || have < uint32(l3)+hdr.IPv4Len+hdr.TCPLen {
			return extract(p, k)
		}
		tp |= uint64(binary.BigEndian.Uint16(ip[32:34])&0xfff) << 16
	case hdr.ProtoUDP:
		if total < hdr.IPv4Len+hdr.UDPLen || have < uint32(l3)+hdr.IPv4Len+hdr.UDPLen {
			return extract(p, k)
		}
	default:
		return extract(p, k)
	}
	*k.Base() = [BaseWords]uint64{}
	k[WordPort] = uint64(p.InPort) << 32
	k[WordDst] = binary.BigEndian.Uint64(b[0:8]) &^ 0xffff
	k[WordSrc] = src
	k[WordVLAN] = tag
	k[WordIP] = uint64(ip[9])<<56 | first>>48&0xff<<48 | uint64(ip[8])<<40
	k[WordIPSrc] = binary.BigEndian.Uint64(ip[12:20])
	k[WordTP] = tp
	return Offsets{L3: uint16(l3), L4: uint16(l3 + hdr.IPv4Len), End: uint32(l3) + total}
}

// link is what a key has of the link layer and at most one tag, and where what follows begins.
func link(b *[hdr.EthernetLen + hdr.VLANLen]byte) (src, tag uint64, l3 int) {
	src = binary.BigEndian.Uint64(b[6:14])
	if !hdr.IsVLAN(uint16(src)) {
		return src, 0, hdr.EthernetLen
	}
	tag = binary.BigEndian.Uint64(b[10:18])
	return src&^0xffff | tag&0xffff, tag >> 16 << 32, hdr.EthernetLen + hdr.VLANLen
}

// notIPv4 is ExtractBase for IPv6; it leaves all else to extract.
//
//go:noinline
func notIPv4(p *packet.Packet, k *Key) Offsets {
	const n = commonLen - hdr.IPv4Len + hdr.IPv6Len
	h := p.Room()
	if len(h) < n {
		return extract(p, k)
	}
	b := (*[n]byte)(h)
	have := uint32(p.HeadLen)
	src, tag, l3 := link((*[hdr.EthernetLen + hdr.VLANLen]byte)(b[:]))
	if uint16(src) != hdr.TypeIPv6 {
		return extract(p, k)
	}
	ip := (*[hdr.IPv6Len + hdr.TCPLen]byte)(b[l3:])
	first := binary.BigEndian.Uint64(ip[0:8]) // version, class, label; length, next header, hop limit
	payload := uint32(first>>16) & 0xffff
	if first>>60 != 6 || payload > p.Len-uint32(l3)-hdr.IPv6Len {
		return extract(p, k)
	}
	tp := uint64(binary.BigEndian.Uint32(ip[40:44])) << 32
	switch proto := uint8(first >> 8); {
	case proto == hdr.ProtoTCP && payload >= hdr.TCPLen && have >= uint32(l3)+hdr.IPv6Len+hdr.TCPLen:
		tp |= uint64(binary.BigEndian.Uint16(ip[52:54])&0xfff) << 16
	case proto == hdr.ProtoUDP && payload >= hdr.UDPLen && have >= uint32(l3)+hdr.IPv6Len+hdr.UDPLen:
	default:
		return extract(p, k)
	}
	*k.Base() = [BaseWords]uint64{}
	k[WordPort] = uint64(p.InPort) << 32
	k[WordDst] = binary.BigEndian.Uint64(b[0:8]) &^ 0xffff
	k[WordSrc] = src
	k[WordVLAN] = tag
	k[WordIP] = first>>8&0xff<<56 | first>>52&0xff<<48 | first&0xff<<40 | first>>32&0xfffff
	k[WordIPSrc] = binary.BigEndian.Uint64(ip[8:16])
	k[WordIPSrcLo] = binary.BigEndian.Uint64(ip[16:24])
	k[WordIPDst] = binary.BigEndian.Uint64(ip[24:32])
	k[WordIPDstLo] = binary.BigEndian.Uint64(ip[32:40])
	k[WordTP] = tp
	return Offsets{L3: uint16(l3), L4: uint16(l3 + hdr.IPv6Len), End: uint32(l3) + hdr.IPv6Len + payload}
}
