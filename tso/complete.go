package tso

import (
	"hash/crc32"

	"github.com/gvswitch/gvswitch/internal/checksum"
	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/packet"
)

// Complete finishes the checksum of a packet with CsumPartial (virtio 1.2, section
// 5.1.6.2: the field holds the pseudo header's sum) over head and tail, writes it
// into the head and clears the flag. A packet without the flag is left alone. It
// reports false, and changes no byte of the frame, when the packet is not as
// Sanity wants it or still needs segmentation: the frame must then be dropped
// (RxBadOffload or TxNeedsOffload). So a checksum is never written over what was
// decided by, whoever forgot to ask Sanity first.
//
// A UDP checksum that comes out as 0 becomes 0xffff, for 0 means none (RFC
// 768); a TCP checksum of 0 stays. An SCTP packet, which Linux marks in the
// same way, gets its CRC32c.
func Complete(p *packet.Packet) bool {
	if p.Flags&packet.CsumPartial == 0 {
		return true
	}
	var l layout
	if p.GSOType != packet.GSONone || !sane(p, &l) {
		return false
	}
	if l.version != 0 && l.proto == hdr.ProtoSCTP && l.l4 == int(p.CsumStart) {
		return completeSCTP(p)
	}
	start := int(p.CsumStart)
	field := start + int(p.CsumOffset)
	head := p.Head()
	var a checksum.Acc
	a.Add(head[start:])
	addTail(&a, p)
	sum := ^a.Sum()
	if sum == 0 && p.CsumOffset == hdr.UDPChecksum {
		sum = 0xffff
	}
	head[field], head[field+1] = byte(sum>>8), byte(sum)
	p.Flags &^= packet.CsumPartial
	return true
}

// addTail appends the whole tail of p.
func addTail(a *checksum.Acc, p *packet.Packet) {
	segs := p.Segs()
	for i := range segs {
		a.Add(mem.Bytes(segs[i].Addr, int(segs[i].Len)))
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// completeSCTP is Complete for SCTP: the CRC covers the packet with the field
// zero (RFC 9260, section 6.8).
func completeSCTP(p *packet.Packet) bool {
	start := int(p.CsumStart)
	if start+hdr.SCTPLen > int(p.Len) || !p.Pull(start+hdr.SCTPLen) {
		return false
	}
	head := p.Head()
	h := hdr.SCTPAt(head, start)
	if h == nil {
		return false
	}
	h.SetChecksum(0)
	crc := crc32.Update(0, castagnoli, head[start:])
	segs := p.Segs()
	for i := range segs {
		crc = crc32.Update(crc, castagnoli, mem.Bytes(segs[i].Addr, int(segs[i].Len)))
	}
	h.SetChecksum(crc)
	p.Flags &^= packet.CsumPartial
	return true
}
