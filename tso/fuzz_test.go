package tso

import (
	"bytes"
	"testing"

	"github.com/gvswitch/gvswitch/packet"
)

func seeds(f *testing.F) {
	for _, c := range []spec{
		{payload: pattern(500)},
		{payload: pattern(77), tags: 2, ipopts: 40, tcpopts: 40},
		{payload: pattern(300), v6: true, ext: 2, tcpopts: 12},
		{payload: pattern(300), v6: true, udp: true},
		{payload: pattern(99), udp: true, tags: 1},
		{},
	} {
		b, l4 := c.build()
		for _, typ := range []byte{0, 1, 3, 4, 5, 0xff} {
			f.Add(b, uint16(128), uint16(100), byte(1), typ, uint16(48), uint16(l4), uint16(16), uint16(54))
		}
		f.Add(b[:len(b)-len(c.payload)-1], uint16(20), uint16(7), byte(5), byte(1), uint16(0), uint16(0xffff), uint16(0), uint16(0xffff))
	}
}

func arm(p *packet.Packet, b []byte, head, seg uint16, flags, typ byte, size, start, off, hlen uint16) {
	lend(p, b, 14+int(head)%(packet.HeadCopy-13), 1+int(seg))
	p.Flags, p.GSOType, p.GSOSize = flags&7, packet.GSOType(typ), size
	p.CsumStart, p.CsumOffset, p.HdrLen = start, off, hlen
}

// Whatever a sender claims about whatever frame: a sane packet can be finished,
// what is refused is unchanged, segments fit together again, and nothing is
// read out of range.
func FuzzOffload(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte, head, seg uint16, flags, typ byte, size, start, off, hlen uint16) {
		if len(b) < packet.MinFrame || len(b) > packet.MaxFrame {
			return
		}
		var p packet.Packet
		arm(&p, b, head, seg, flags, typ, size, start, off, hlen)
		sane := Sanity(&p)
		if !sane || p.GSOType == packet.GSONone {
			if !bytes.Equal(p.AppendTo(nil), b) {
				t.Fatal("Sanity changed the frame")
			}
		}
		var s Segmenter
		var l layout
		if s.Start(&p) {
			l = s.l
			var out packet.Packet
			var payload []byte
			n, most := 0, s.Left()
			hl := s.hlen
			for s.Next(&out) {
				g := out.AppendTo(nil)
				if l.frag || int(out.Len) != len(g) || len(g) < hl || len(g) > hl+int(size) {
					t.Fatalf("segment of %d bytes, headers %d, size %d", len(g), hl, size)
				}
				if err := verify(g); err != nil && !l.routed {
					t.Fatal(err)
				}
				payload = append(payload, g[hl:]...)
				n++
			}
			if n != most || n > MaxSegments || !bytes.Equal(payload, b[hl:l.end]) {
				t.Fatal("segments do not make the packet")
			}
		} else if sane && p.GSOType != packet.GSONone {
			t.Fatal("sane, but cannot be cut")
		}

		arm(&p, b, head, seg, flags, 0, 0, start, off, hlen)
		sane = Sanity(&p)
		if ok := Complete(&p); sane != ok {
			t.Fatalf("sane %v, completed %v", sane, ok)
		} else if ok && p.Flags&packet.CsumPartial != 0 {
			t.Fatal("flag left")
		} else if got := p.AppendTo(nil); !ok && !bytes.Equal(got, b) {
			t.Fatal("refused, but changed")
		} else if sane && flags&packet.CsumPartial != 0 {
			// The addresses and ports are what they were.
			if l.find(&p) && l.version != 0 && !bytes.Equal(got[:l.l4], b[:l.l4]) {
				t.Fatal("checksum written into the IP header")
			}
		}
	})
}
