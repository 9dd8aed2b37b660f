package datapath

import (
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/tso"
)

// fit makes the packets of list what o's receiver takes: it finishes checksums,
// cuts packets, and drops what is too long. What it returns is to be sent; it is
// in list's own memory. Packets that are cut are sent here, after those before
// them.
func (t *thread) fit(o *txPort, list []uint16) []uint16 {
	n := 0
	for k := 0; k < len(list); k++ {
		i := list[k]
		p := &t.burst.Pkts[i&(packet.MaxBurst+packet.Clones-1)]
		if p.GSOType != packet.GSONone && (o.gso>>p.GSOType&1 == 0 || p.Flags&packet.ECN != 0 && !o.ecn || p.Len > o.maxLen) {
			if n > 0 {
				t.send(o, t.burst, list[:n])
				n = 0
			}
			t.cut(o, p)
			continue
		}
		if p.GSOType == packet.GSONone && p.Flags&packet.CsumPartial != 0 && !o.csum && !tso.Complete(p) {
			t.discard(o, packet.TxNeedsOffload, p)
			continue
		}
		if r := o.tooLong(p); r != packet.DropNone {
			t.discard(o, r, p)
			continue
		}
		list[n] = i
		n++
	}
	return list[:n]
}

// frameExtra is what a frame may have beyond the MTU: the Ethernet header and, as
// in Open vSwitch's userspace datapath, 4 bytes that it counts as FCS and that
// make 1518 the longest frame at MTU 1500. A kernel device that is stricter refuses by itself.
const frameExtra = packet.MinFrame + 4

// tooLong says why the receiver does not take a frame of this length. One tag does
// not count; a GSO packet that the receiver takes whole is its own to cut.
func (o *txPort) tooLong(p *packet.Packet) packet.DropReason {
	if p.Len > o.maxLen {
		return packet.TxTooLong
	}
	if o.mtu == 0 || p.Len <= o.easy || p.GSOType != packet.GSONone {
		return packet.DropNone
	}
	l := p.Len - frameExtra
	if h := p.Words(); h[12] == 0x81 && h[13] == 0 || h[12] == 0x88 && h[13] == 0xa8 {
		l -= 4
	}
	if l > o.mtu {
		return packet.TxOversize
	}
	return packet.DropNone
}

// cut segments p and sends the pieces, a burst at a time. p and what it was lent stay
// as they are: others may send it too.
func (t *thread) cut(o *txPort, p *packet.Packet) {
	s := &t.seg
	s.Partial = o.csum
	if !s.Start(p) {
		t.discard(o, packet.TxNeedsOffload, p)
		return
	}
	if n := s.Left(); n > 0 {
		o.c.segments.Add(uint64(n - 1))
	}
	for s.Left() > 0 {
		list := t.pieces[:0]
		made := 0
		for made < packet.MaxBurst && s.Next(&t.scratch.Pkts[made]) {
			if r := o.tooLong(&t.scratch.Pkts[made]); r != packet.DropNone {
				t.discard(o, r, &t.scratch.Pkts[made])
				continue // the place is used again
			}
			list = append(list, uint16(made))
			made++
		}
		t.scratch.Start(made)
		if made > 0 {
			t.send(o, t.scratch, list)
		}
	}
}
