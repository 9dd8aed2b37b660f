package flow

import (
	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/packet"
)

// maxIP is the length of the longest datagram, which fragments must not exceed
// together.
const maxIP = 65535

// ipv4 reads an IPv4 packet at o.L3. A header that lies about itself leaves
// no fields: nothing that matches on addresses or ports may match it.
func (k *Key) ipv4(p *packet.Packet, o *Offsets) {
	l3 := int(o.L3)
	if !pull(p, l3+hdr.IPv4Len) {
		return
	}
	h := hdr.IPv4At(p.Head(), l3)
	if h == nil || h.Version() != 4 {
		return
	}
	n, total := h.HeaderLen(), h.TotalLen()
	if n < hdr.IPv4Len || total < n || total > int(p.Len)-l3 || !pull(p, l3+n) {
		return
	}
	var frag uint64
	if f := h.Frag(); f&(hdr.IPv4MF|hdr.IPv4FragMask) != 0 {
		at := int(f&hdr.IPv4FragMask) * 8
		if at+total > maxIP {
			return
		}
		frag = fragBits(at)
	}
	proto := h.Proto()
	k[WordIP] = uint64(proto)<<56 | uint64(h.TOS())<<48 | uint64(h.TTL())<<40 | frag<<32
	k[WordIPSrc] = uint64(h.Src())<<32 | uint64(h.Dst())
	o.L4, o.End = uint16(l3+n), uint32(l3+total)
	if frag&FragLater == 0 {
		k.l4(p, l3+n, l3+total, proto)
	}
}

// ipv6 reads an IPv6 packet at o.L3 and walks over its extension headers. If one of
// them is cut off or beyond what a head can hold, only the addresses are known.
func (k *Key) ipv6(p *packet.Packet, o *Offsets) {
	l3 := int(o.L3)
	at := l3 + hdr.IPv6Len
	if !pull(p, at) {
		return
	}
	h := hdr.IPv6At(p.Head(), l3)
	if h == nil || h.Version() != 6 {
		return
	}
	end := at + h.PayloadLen()
	if end > int(p.Len) {
		return
	}
	k[WordIPSrc], k[WordIPSrcLo] = h.Src()
	k[WordIPDst], k[WordIPDstLo] = h.Dst()
	proto, frag := h.Next(), uint64(0)
	if hdr.IsIPv6Ext(proto) {
		at, proto, frag = extensions(p, at, end, proto)
		if at == 0 {
			return
		}
	}
	k[WordIP] = uint64(proto)<<56 | uint64(h.TOS())<<48 | uint64(h.HopLimit())<<40 | frag<<32 | uint64(h.Label())
	o.L4, o.End = uint16(at), uint32(end)
	if frag&FragLater == 0 {
		k.l4(p, at, end, proto)
	}
}

// extensions walks over the IPv6 extension headers from at to end, the first of
// kind proto, and gives where they end, the protocol behind them and the
// fragment bits; 0 for where if the chain is broken. Behind a later fragment's
// header there is nothing to read.
//
//go:noinline
func extensions(p *packet.Packet, at, end int, proto uint8) (int, uint8, uint64) {
	frag := uint64(0)
	for hdr.IsIPv6Ext(proto) {
		if at+hdr.IPv6ExtLen > end || !pull(p, at+hdr.IPv6ExtLen) {
			return 0, 0, 0
		}
		e := hdr.IPv6ExtAt(p.Head(), at)
		if e == nil {
			return 0, 0, 0
		}
		at += e.Len(proto)
		if at > end {
			return 0, 0, 0
		}
		if proto == hdr.ProtoFragment {
			frag = fragBits(int(e.Frag() & hdr.IPv6FragMask))
			if frag&FragLater != 0 {
				return at, e.Next(), frag
			}
		}
		proto = e.Next()
	}
	return at, proto, frag
}

// fragBits are the bits for a fragment at offset at.
func fragBits(at int) uint64 {
	if at == 0 {
		return FragAny
	}
	return FragAny | FragLater
}
