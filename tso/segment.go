package tso

import (
	"github.com/gvswitch/gvswitch/internal/checksum"
	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/packet"
)

// MaxSegments is the most segments that one packet is cut into: a 64 KiB packet
// at the least segment size that Linux sends with (TCP_MIN_SND_MSS, 48 bytes since
// CVE-2019-11479). A sender that asks for more wants to keep the switch busy.
const MaxSegments = (65535 + 47) / 48

// Segmenter cuts a GSO packet into the packets that its sender meant: TCP over
// IPv4 and IPv6 (with options, extension headers, VLAN tags) and UDP (USO).
//
//	if !s.Start(p) { drop p as TxNeedsOffload }
//	for s.Next(out) { send out }
//
// Each segment's head is built in out's buffer and its tail is a slice of p's tail:
// p and what it was lent must stay as they are until the last segment is sent.
// The zero value is ready; a poll thread keeps one. It must not be shared.
type Segmenter struct {
	// Partial makes segments with CsumPartial, for receivers that take it: no
	// payload is summed. By default segments are fully checksummed.
	Partial bool

	p    *packet.Packet
	l    layout
	hlen int // all headers
	size int // payload bytes of each segment but the last
	at   int // frame offset of the next payload byte

	pseudo uint16 // sum of the pseudo header without its length

	left  int    // segments to come
	first bool   // the next one is the first
	id    uint16 // IPv4 identification of the next one
	seq   uint32 // TCP sequence number of the next one

	seg, off int // where in the tail the next tail byte is
}

// Start begins to cut p and reports whether it can be cut: it is a GSO packet whose
// headers are right and in MaxSegments or fewer pieces. It pulls
// p's headers into its head. The caller does not change p until the last Next.
func (s *Segmenter) Start(p *packet.Packet) bool {
	s.left = 0
	if p.GSOType == packet.GSONone || p.GSOSize == 0 {
		return false
	}
	l := &s.l
	if !l.find(p) || l.version == 0 || l.frag {
		return false
	}
	s.hlen = l.headerLen(p)
	if s.hlen == 0 {
		return false
	}
	n := segments(l.end-s.hlen, int(p.GSOSize))
	if n > MaxSegments {
		return false
	}
	s.p, s.size, s.at = p, int(p.GSOSize), s.hlen
	s.left, s.first = n, true
	s.seg, s.off = 0, 0
	return s.begin(p)
}

// begin takes from p's headers what changes from segment to segment.
func (s *Segmenter) begin(p *packet.Packet) bool {
	l, head := &s.l, p.Head()
	if h := hdr.IPv4At(head, l.l3); l.version == 4 && h != nil {
		s.id = h.ID()
	}
	if h := hdr.TCPAt(head, l.l4); l.proto == hdr.ProtoTCP && h != nil {
		s.seq = h.Seq()
	}
	if !l.routed {
		s.pseudo = l.pseudo(head, 0)
		return true
	}
	// Only the sender knew the final destination: its sum has it.
	at := l.l4 + l.csumOffset()
	if p.Flags&packet.CsumPartial == 0 || int(p.CsumStart) != l.l4 || l.l4+int(p.CsumOffset) != at {
		s.left = 0
		return false
	}
	s.pseudo = checksum.UpdateSum16(uint16(head[at])<<8|uint16(head[at+1]), uint16(l.end-l.l4), 0)
	return true
}

// Left is how many segments are still to come.
func (s *Segmenter) Left() int { return s.left }

// Next makes out the next segment, whatever out was before, and reports false when
// there is none left.
func (s *Segmenter) Next(out *packet.Packet) bool {
	if s.left == 0 {
		return false
	}
	s.left--
	n := min(s.size, s.l.end-s.at)
	s.slice(out, n)
	s.header(out, n)
	s.at += n
	s.first = false
	if s.left == 0 {
		s.p = nil
	}
	return true
}

// slice gives out the headers of the whole packet and the next n bytes of its
// payload: what is in the head by copy, the rest by reference.
func (s *Segmenter) slice(out *packet.Packet, n int) {
	src := s.p.Head()
	out.Reset()
	out.Off, out.InPort = s.p.Off, s.p.InPort
	dst := out.Room()
	k := copy(dst, src[:s.hlen])
	if s.at < len(src) {
		c := copy(dst[k:], src[s.at:min(s.at+n, len(src))])
		k += c
		n -= c
	}
	out.SetHead(k)
	segs := s.p.Segs()
	for n > 0 && s.seg < len(segs) {
		g := &segs[s.seg]
		c := min(n, int(g.Len)-s.off)
		out.AddSeg(g.Addr+uintptr(s.off), uint32(c))
		n -= c
		s.off += c
		if s.off == int(g.Len) {
			s.seg, s.off = s.seg+1, 0
		}
	}
}

// header turns the copied headers into those of a segment with n payload bytes.
func (s *Segmenter) header(out *packet.Packet, n int) {
	l, head := &s.l, out.Head()
	l4len := s.hlen - l.l4 + n
	if l.version == 4 {
		h := hdr.IPv4At(head, l.l3)
		if h == nil {
			return
		}
		h.SetTotalLen(l.l4 - l.l3 + l4len)
		h.SetID(s.id)
		s.id++
		h.SetChecksum(0)
		h.SetChecksum(^checksum.Sum(head[l.l3:l.l4], 0))
	} else if h := hdr.IPv6At(head, l.l3); h != nil {
		h.SetPayloadLen(l.l4 - l.l3 - hdr.IPv6Len + l4len)
	}
	sum := checksum.UpdateSum16(s.pseudo, 0, uint16(l4len))
	if l.proto == hdr.ProtoTCP {
		s.tcp(out, n, sum)
	} else {
		s.udp(out, l4len, sum)
	}
}

// tcp finishes a TCP segment: FIN and PSH belong to the last one only, CWR to the
// first one only (RFC 3168, section 6.1.2).
func (s *Segmenter) tcp(out *packet.Packet, n int, pseudo uint16) {
	h := hdr.TCPAt(out.Head(), s.l.l4)
	if h == nil {
		return
	}
	h.SetSeq(s.seq)
	s.seq += uint32(n)
	if s.left != 0 {
		h.ClearFlags(hdr.TCPFin | hdr.TCPPsh)
	}
	if !s.first {
		h.ClearFlags(hdr.TCPCwr)
	}
	if s.Partial {
		h.SetChecksum(pseudo)
		s.setPartial(out, hdr.TCPChecksum)
		return
	}
	h.SetChecksum(0)
	h.SetChecksum(^s.sum(out, pseudo))
}

// udp finishes a UDP datagram of n bytes; a checksum of 0 would mean none (RFC
// 768).
func (s *Segmenter) udp(out *packet.Packet, n int, pseudo uint16) {
	h := hdr.UDPAt(out.Head(), s.l.l4)
	if h == nil {
		return
	}
	h.SetLen(n)
	if s.Partial {
		h.SetChecksum(pseudo)
		s.setPartial(out, hdr.UDPChecksum)
		return
	}
	h.SetChecksum(0)
	sum := ^s.sum(out, pseudo)
	if sum == 0 {
		sum = 0xffff
	}
	h.SetChecksum(sum)
}

func (s *Segmenter) setPartial(out *packet.Packet, off int) {
	out.Flags |= packet.CsumPartial
	out.CsumStart, out.CsumOffset = uint16(s.l.l4), uint16(off)
}

// sum is the sum of out from its L4 header on, and of the pseudo header.
func (s *Segmenter) sum(out *packet.Packet, pseudo uint16) uint16 {
	var a checksum.Acc
	a.Start(pseudo)
	a.Add(out.Head()[s.l.l4:])
	addTail(&a, out)
	return a.Sum()
}
