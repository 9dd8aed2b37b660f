package tso

import (
	"github.com/gvswitch/gvswitch/internal/checksum"
	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/packet"
)

// maxExt is the most IPv6 extension headers that are walked over. RFC 8200,
// section 4.1, has each at most once, destination options twice.
const maxExt = 8

// layout is where the parts of an IP packet are in its frame, in bytes from the
// frame's start. It is found anew from the frame, never from what the sender claims.
type layout struct {
	l3      int   // IP header
	l4      int   // header of proto
	end     int   // where the IP packet ends: padding follows
	proto   uint8 // behind all IPv6 extension headers
	version uint8 // 4 or 6; 0: not IP, and only l3 is set
	frag    bool  // a fragment, the first one included
	routed  bool  // the final destination is in a routing header, not in the fixed one
}

// find walks the headers of p as far as the L4 header's first byte, pulling them
// into the head. It reports false for a broken IP header. A frame whose IP
// length is 0 is taken to end where the frame does when it needs
// segmentation, as drivers send it that leave the length to the device.
func (l *layout) find(p *packet.Packet) bool {
	if !pull(p, hdr.EthernetLen) {
		return false
	}
	l.l3 = hdr.EthernetLen
	t := hdr.TypeAt(p.Head(), l.l3-2)
	for i := 0; i < 2 && hdr.IsVLAN(t); i++ {
		if !pull(p, l.l3+hdr.VLANLen) {
			return false
		}
		l.l3 += hdr.VLANLen
		t = hdr.TypeAt(p.Head(), l.l3-2)
	}
	switch t {
	case hdr.TypeIPv4:
		return l.findV4(p)
	case hdr.TypeIPv6:
		return l.findV6(p)
	}
	l.version = 0
	return true
}

func (l *layout) findV4(p *packet.Packet) bool {
	if !pull(p, l.l3+hdr.IPv4Len) {
		return false
	}
	h := hdr.IPv4At(p.Head(), l.l3)
	if h == nil || h.Version() != 4 {
		return false
	}
	n, total := h.HeaderLen(), h.TotalLen()
	if total == 0 && p.GSOType != packet.GSONone {
		total = int(p.Len) - l.l3
	}
	if n < hdr.IPv4Len || total < n || total > int(p.Len)-l.l3 {
		return false
	}
	l.version, l.proto, l.frag, l.routed = 4, h.Proto(), h.IsFragment(), false
	l.l4, l.end = l.l3+n, l.l3+total
	return pull(p, l.l4)
}

func (l *layout) findV6(p *packet.Packet) bool {
	if !pull(p, l.l3+hdr.IPv6Len) {
		return false
	}
	h := hdr.IPv6At(p.Head(), l.l3)
	if h == nil || h.Version() != 6 {
		return false
	}
	n := h.PayloadLen()
	if n == 0 && p.GSOType != packet.GSONone {
		n = int(p.Len) - l.l3 - hdr.IPv6Len
	}
	l.version, l.proto, l.frag, l.routed = 6, h.Next(), false, false
	l.l4 = l.l3 + hdr.IPv6Len
	l.end = l.l4 + n
	if l.end > int(p.Len) {
		return false
	}
	for i := 0; hdr.IsIPv6Ext(l.proto); i++ {
		if i == maxExt || l.l4+hdr.IPv6ExtLen > l.end || !pull(p, l.l4+hdr.IPv6ExtLen) {
			return false
		}
		e := hdr.IPv6ExtAt(p.Head(), l.l4)
		if e == nil {
			return false
		}
		l.frag = l.frag || l.proto == hdr.ProtoFragment
		l.routed = l.routed || l.proto == hdr.ProtoRouting && e.SegmentsLeft() != 0
		l.l4 += e.Len(l.proto)
		l.proto = e.Next()
		if l.l4 > l.end || l.frag {
			break // behind a fragment header there need not be a header
		}
	}
	return l.l4 <= l.end && pull(p, l.l4)
}

// pseudo is the sum of the pseudo header for n bytes of L4 header and payload,
// right unless routed (RFC 8200, section 8.1).
func (l *layout) pseudo(head []byte, n int) uint16 {
	if l.version == 4 {
		if h := hdr.IPv4At(head, l.l3); h != nil {
			src, dst := h.Addresses()
			return checksum.PseudoV4(src, dst, l.proto, uint16(n))
		}
		return 0
	}
	if h := hdr.IPv6At(head, l.l3); h != nil {
		src, dst := h.Addresses()
		return checksum.PseudoV6(src, dst, l.proto, uint32(n))
	}
	return 0
}

// pull is Packet.Pull with the usual case, that the bytes are there, inlined.
func pull(p *packet.Packet, n int) bool { return n <= int(p.HeadLen) || p.Pull(n) }
