package tso

import (
	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/packet"
)

// Sanity tells whether the offload state that came with a received frame fits the
// frame. If not, the frame must be dropped (RxBadOffload): finishing it could write
// anywhere in it, even over an address that was already classified by. Frames
// without offload state are always sane.
//
// What is asked of a frame with CsumPartial: that it is an IP packet with a right
// IP header and no fragment, and that the checksum is that of its L4 header, or
// of something behind that when the L4 protocol may carry other packets. A GSO
// frame must be of the kind it claims, its headers whole and within the head's
// capacity, its segment size not 0 and its segments no more than MaxSegments. A
// GSO frame without CsumPartial is given one, as receivers need it (virtio
// 1.2, section 5.1.6.2).
//
// HdrLen is not looked at: senders get it wrong and nobody here uses it.
func Sanity(p *packet.Packet) bool {
	if p.Flags&packet.CsumPartial == 0 && p.GSOType == packet.GSONone {
		return true
	}
	var l layout
	return sane(p, &l)
}

// sane is Sanity for a frame with offload state; it leaves the frame's layout in l.
func sane(p *packet.Packet, l *layout) bool {
	if !l.find(p) {
		return false
	}
	if l.version == 0 {
		// Nothing is known of what follows but that a third tag changes nothing.
		return p.GSOType == packet.GSONone && hdr.IsVLAN(hdr.TypeAt(p.Head(), l.l3-2)) &&
			int(p.CsumStart) >= l.l3+hdr.VLANLen && csumFits(p)
	}
	if l.frag {
		return false
	}
	if p.GSOType != packet.GSONone {
		return saneGSO(p, l)
	}
	return saneCsum(p, l)
}

// csumFits tells whether the checksum field is within the frame and the head's
// capacity.
func csumFits(p *packet.Packet) bool {
	return pull(p, int(p.CsumStart)+int(p.CsumOffset)+2)
}

// saneCsum is Sanity for an IP packet with CsumPartial and no GSO.
func saneCsum(p *packet.Packet, l *layout) bool {
	start, off := int(p.CsumStart), int(p.CsumOffset)
	if !csumFits(p) {
		return false
	}
	if start == l.l4 {
		switch l.proto {
		case hdr.ProtoTCP:
			return off == hdr.TCPChecksum
		case hdr.ProtoUDP, hdr.ProtoUDPLite, hdr.ProtoDCCP:
			return off == hdr.UDPChecksum
		case hdr.ProtoSCTP:
			return off == hdr.SCTPChecksum
		case hdr.ProtoICMP, hdr.ProtoICMPv6, hdr.ProtoIGMP:
			return off == hdr.ICMPChecksum
		}
		return true
	}
	switch l.proto {
	case hdr.ProtoTCP, hdr.ProtoSCTP, hdr.ProtoDCCP, hdr.ProtoICMP, hdr.ProtoICMPv6, hdr.ProtoIGMP:
		return false
	case hdr.ProtoUDP, hdr.ProtoUDPLite: // VXLAN and the like: the inner packet's checksum
		return start >= l.l4+hdr.UDPLen
	}
	return start > l.l4
}

// saneGSO is Sanity for a GSO frame with an IP packet.
func saneGSO(p *packet.Packet, l *layout) bool {
	n := l.headerLen(p)
	if n == 0 || p.GSOSize == 0 || segments(l.end-n, int(p.GSOSize)) > MaxSegments {
		return false
	}
	off := l.csumOffset()
	if p.Flags&packet.CsumPartial != 0 {
		return int(p.CsumStart) == l.l4 && int(p.CsumOffset) == off
	}
	if l.routed {
		return false
	}
	head := p.Head()
	putSum(head, l.l4+off, l.pseudo(head, l.end-l.l4))
	p.Flags |= packet.CsumPartial
	p.CsumStart, p.CsumOffset = uint16(l.l4), uint16(off)
	return true
}

// headerLen pulls all headers of a GSO packet into the head and gives their
// length; 0 when they are not what its GSO type says or not all there.
func (l *layout) headerLen(p *packet.Packet) int {
	n := 0
	switch {
	case p.GSOType == packet.GSOTCPv4 && l.version == 4 && l.proto == hdr.ProtoTCP,
		p.GSOType == packet.GSOTCPv6 && l.version == 6 && l.proto == hdr.ProtoTCP:
		if l.l4+hdr.TCPLen > l.end || !pull(p, l.l4+hdr.TCPLen) {
			return 0
		}
		h := hdr.TCPAt(p.Head(), l.l4)
		if h == nil || h.HeaderLen() < hdr.TCPLen {
			return 0
		}
		n = l.l4 + h.HeaderLen()
	case p.GSOType == packet.GSOUDPL4 && l.version != 0 && l.proto == hdr.ProtoUDP:
		n = l.l4 + hdr.UDPLen
	default:
		return 0
	}
	if n > l.end || !pull(p, n) {
		return 0
	}
	return n
}

// csumOffset is where the checksum is in the L4 header of a GSO packet.
func (l *layout) csumOffset() int {
	if l.proto == hdr.ProtoUDP {
		return hdr.UDPChecksum
	}
	return hdr.TCPChecksum
}

// segments is into how many pieces of size n payload bytes are cut; at least 1.
func segments(n, size int) int { return max(1, (n+size-1)/size) }

// putSum writes a 16-bit field of the head.
func putSum(head []byte, at int, v uint16) { head[at], head[at+1] = byte(v>>8), byte(v) }
