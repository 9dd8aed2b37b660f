package flow

import (
	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/packet"
)

// l4 reads the header of proto at at; end is where the IP packet ends. A header
// that is not all there leaves no fields.
func (k *Key) l4(p *packet.Packet, at, end int, proto uint8) {
	switch proto {
	case hdr.ProtoTCP:
		if at+hdr.TCPLen <= end && pull(p, at+hdr.TCPLen) {
			if h := hdr.TCPAt(p.Head(), at); h != nil {
				k[WordTP] = ports(h.SrcPort(), h.DstPort()) | uint64(h.Flags())<<16
			}
		}
	case hdr.ProtoUDP:
		if at+hdr.UDPLen <= end && pull(p, at+hdr.UDPLen) {
			if h := hdr.UDPAt(p.Head(), at); h != nil {
				k[WordTP] = ports(h.SrcPort(), h.DstPort())
			}
		}
	case hdr.ProtoSCTP:
		if at+hdr.SCTPLen <= end && pull(p, at+hdr.SCTPLen) {
			if h := hdr.SCTPAt(p.Head(), at); h != nil {
				k[WordTP] = ports(h.SrcPort(), h.DstPort())
			}
		}
	case hdr.ProtoICMP, hdr.ProtoIGMP:
		if k.EthType() == hdr.TypeIPv4 {
			k.icmp(p, at, end, proto)
		}
	case hdr.ProtoICMPv6:
		if k.EthType() == hdr.TypeIPv6 {
			k.icmpv6(p, at, end)
		}
	}
}

// ports is WordTP with the two ports.
func ports(src, dst uint16) uint64 { return uint64(src)<<48 | uint64(dst)<<32 }

// icmp reads an ICMP or IGMP header.
func (k *Key) icmp(p *packet.Packet, at, end int, proto uint8) {
	if at+hdr.ICMPLen > end || !pull(p, at+hdr.ICMPLen) {
		return
	}
	h := hdr.ICMPAt(p.Head(), at)
	if h == nil {
		return
	}
	k[WordTP] = ports(uint16(h.Type()), uint16(h.Code()))
	if proto == hdr.ProtoIGMP {
		k[WordTarget] = uint64(h.Rest()) << 32
	}
}

// icmpv6 reads an ICMPv6 header, and what follows it in neighbour discovery.
func (k *Key) icmpv6(p *packet.Packet, at, end int) {
	if at+hdr.ICMPv6Len > end || !pull(p, at+hdr.ICMPv6Len) {
		return
	}
	h := hdr.ICMPv6At(p.Head(), at)
	if h == nil {
		return
	}
	k[WordTP] = ports(uint16(h.Type()), uint16(h.Code()))
	if t := h.Type(); (t == hdr.ICMPv6NS || t == hdr.ICMPv6NA) && h.Code() == 0 {
		k.nd(p, at, end)
	}
}

// nd reads a neighbour solicitation or advertisement and the link-layer addresses
// among its options. The walk ends at an option that claims no length or more
// than is left (RFC 4861, section 4.6); the same address twice makes the whole message
// doubtful, and then target and addresses stay zero, as in OVS.
func (k *Key) nd(p *packet.Packet, at, end int) {
	if at+hdr.NDLen > end || !pull(p, at+hdr.NDLen) {
		return
	}
	h := hdr.NDAt(p.Head(), at)
	if h == nil {
		return
	}
	k[WordTarget], k[WordTargetLo] = h.Target()
	k[WordMPLS2] = uint64(h.Reserved())
	for at += hdr.NDLen; at+hdr.NDOptLen <= end && pull(p, at+hdr.NDOptLen); {
		o := hdr.NDOptAt(p.Head(), at)
		if o == nil {
			return
		}
		n := o.Len()
		if n == 0 || n > end-at {
			return
		}
		w := -1
		switch o.Type() {
		case hdr.NDOptSource:
			w = WordSHA
		case hdr.NDOptTarget:
			w = WordTHA
		}
		if w >= 0 && n == hdr.NDOptLen {
			if k[w] != 0 {
				k[WordTarget], k[WordTargetLo], k[WordMPLS2], k[WordSHA], k[WordTHA] = 0, 0, 0, 0, 0
				return
			}
			k[w] = uint64(o.LinkAddr()) << 16
		}
		at += n
	}
}
