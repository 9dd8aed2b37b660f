package tso

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gvswitch/gvswitch/packet"
)

// gso makes p the frame of c, waiting to be cut into pieces of size.
func (c *spec) gso(p *packet.Packet, head, seg, size int) {
	frame, l4 := c.build()
	lend(p, frame, head, seg)
	p.InPort = 9
	p.Flags, p.CsumStart, p.CsumOffset = packet.CsumPartial, uint16(l4), 16
	p.GSOSize, p.HdrLen = uint16(size), uint16(rand.Uint32())
	switch {
	case c.udp:
		p.GSOType, p.CsumOffset = packet.GSOUDPL4, 6
	case c.v6:
		p.GSOType = packet.GSOTCPv6
	default:
		p.GSOType = packet.GSOTCPv4
	}
}

// cutAll cuts p and gives the segments' bytes.
func cutAll(t testing.TB, s *Segmenter, p *packet.Packet) [][]byte {
	t.Helper()
	if !s.Start(p) {
		t.Fatal("refused")
	}
	var frames [][]byte
	var out packet.Packet
	for n := s.Left(); s.Next(&out); n-- {
		if s.Left() != n-1 {
			t.Fatalf("Left is %d after segment, %d before", s.Left(), n)
		}
		if out.InPort != p.InPort || out.GSOType != packet.GSONone || out.GSOSize != 0 {
			t.Fatal("metadata wrong")
		}
		if s.Partial {
			if out.Flags != packet.CsumPartial || !Sanity(&out) || !Complete(&out) {
				t.Fatal("segment's partial checksum does not fit it")
			}
		}
		if out.Flags != 0 {
			t.Fatalf("flags %#x", out.Flags)
		}
		frames = append(frames, out.AppendTo(nil))
	}
	return frames
}

// check compares segments, field by field, with what c means.
func (c *spec) check(frames [][]byte, size int) error {
	if want := max(1, (len(c.payload)+size-1)/size); len(frames) != want {
		return fmt.Errorf("%d segments, want %d", len(frames), want)
	}
	whole, _ := c.build()
	w, _, err := parse(whole)
	if err != nil {
		return err
	}
	var got []byte
	for i, b := range frames {
		if err := verify(b); err != nil {
			return fmt.Errorf("segment %d: %w", i, err)
		}
		f, _, err := parse(b)
		if err != nil {
			return err
		}
		last := i == len(frames)-1
		if !last && len(f.payload) != size {
			return fmt.Errorf("segment %d: %d bytes", i, len(f.payload))
		}
		if !bytes.Equal(f.l2, w.l2) {
			return fmt.Errorf("segment %d: link layer differs", i)
		}
		l3 := bytes.Clone(w.l3)
		if c.v6 {
			copy(l3[4:6], f.l3[4:6]) // checked by parse
		} else {
			copy(l3[2:4], f.l3[2:4])
			copy(l3[10:12], f.l3[10:12])
			binary.BigEndian.PutUint16(l3[4:], c.id+uint16(i))
		}
		if !bytes.Equal(f.l3, l3) {
			return fmt.Errorf("segment %d: IP header %x, want %x", i, f.l3, l3)
		}
		l4 := bytes.Clone(w.l4)
		if c.udp {
			copy(l4[4:8], f.l4[4:8])
		} else {
			copy(l4[16:18], f.l4[16:18])
			binary.BigEndian.PutUint32(l4[4:], c.seq+uint32(len(got)))
			if !last {
				l4[13] &^= 0x09 // FIN, PSH
			}
			if i > 0 {
				l4[13] &^= 0x80 // CWR
			}
		}
		if !bytes.Equal(f.l4, l4) {
			return fmt.Errorf("segment %d: L4 header %x, want %x", i, f.l4, l4)
		}
		got = append(got, f.payload...)
	}
	if !bytes.Equal(got, c.payload) {
		return fmt.Errorf("payload differs")
	}
	return nil
}

// B50: each segment is what a from-scratch builder makes, for every kind of header.
func TestSegmentEveryShape(t *testing.T) {
	var s Segmenter
	for i := range 3000 {
		c := spec{
			tags: rand.IntN(3), v6: rand.IntN(2) == 0, udp: rand.IntN(3) == 0,
			flags: byte(rand.Uint32()), seq: rand.Uint32() | uint32(-rand.Int32N(2)), id: uint16(rand.Uint32()),
			payload: pattern(rand.IntN(1 + rand.IntN(9000))),
		}
		if c.v6 {
			c.ext = rand.IntN(3)
		} else {
			c.ipopts = 4 * rand.IntN(11)
		}
		if !c.udp {
			c.tcpopts = 4 * rand.IntN(11)
		}
		size := 48 + rand.IntN(1500)
		if i%4 == 0 && len(c.payload) < 1300 {
			size = 1 + rand.IntN(10)
		}
		if rand.IntN(5) == 0 { // one byte over, and exactly
			c.payload = pattern(3*size + rand.IntN(2))
		}
		var p packet.Packet
		c.gso(&p, 14+rand.IntN(packet.HeadCopy-13), 1+rand.IntN(3000), size)
		if !Sanity(&p) {
			t.Fatalf("%+v: not sane", c)
		}
		s.Partial = rand.IntN(3) == 0
		if err := c.check(cutAll(t, &s, &p), size); err != nil {
			c.payload = nil
			t.Fatalf("%v\n%+v, size %d", err, c, size)
		}
	}
}

func TestSegmentBiggest(t *testing.T) {
	var s Segmenter
	for _, size := range []int{48, 537, 1448, 65535} {
		c := spec{tags: 2, payload: pattern(65535 - 40), flags: 0x99, seq: 0xffffff00, id: 0xfffe}
		var p packet.Packet
		c.gso(&p, 128, 4096, size)
		if err := c.check(cutAll(t, &s, &p), size); err != nil {
			t.Errorf("size %d: %v", size, err)
		}
	}
}

// B51: a datagram whose checksum comes out as 0 carries ffff.
func TestSegmentUDPZero(t *testing.T) {
	c := spec{udp: true, payload: make([]byte, 8)}
	pseudoAndHeader := uint32(0x0a09+1+0x0a09+2+17+12) + 0x0fa0 + 0x35 + 12
	rest := 0xffff - pseudoAndHeader
	for i := 0; i < 8; i += 4 {
		c.payload[i], c.payload[i+1] = byte(rest>>8), byte(rest)
	}
	var p packet.Packet
	c.gso(&p, 128, 100, 4)
	var s Segmenter
	for i, b := range cutAll(t, &s, &p) {
		if b[40] != 0xff || b[41] != 0xff {
			t.Errorf("segment %d: checksum %x, want ffff", i, b[40:42])
		}
	}
}

func TestStartRefuses(t *testing.T) {
	good := spec{payload: pattern(3000), tcpopts: 12, ipopts: 4}
	for name, spoil := range map[string]func(p *packet.Packet){
		"no GSO":            func(p *packet.Packet) { p.GSOType = packet.GSONone },
		"UFO":               func(p *packet.Packet) { p.GSOType = packet.GSOUDP },
		"unknown type":      func(p *packet.Packet) { p.GSOType = 0xff },
		"v6 type":           func(p *packet.Packet) { p.GSOType = packet.GSOTCPv6 },
		"UDP type":          func(p *packet.Packet) { p.GSOType = packet.GSOUDPL4 },
		"size 0":            func(p *packet.Packet) { p.GSOSize = 0 },
		"too many segments": func(p *packet.Packet) { p.GSOSize = 2 },
		"ARP":               func(p *packet.Packet) { p.Head()[13] = 6 },
		"UDP":               func(p *packet.Packet) { p.Head()[23] = 17 },
		"version 6":         func(p *packet.Packet) { p.Head()[14] = 0x66 },
		"IHL 4":             func(p *packet.Packet) { p.Head()[14] = 0x44 },
		"fragment":          func(p *packet.Packet) { p.Head()[20] = 0x20 },
		"later fragment":    func(p *packet.Packet) { p.Head()[21] = 5 },
		"length over frame": func(p *packet.Packet) { p.Head()[16] = 0x40 },
		"length < headers":  func(p *packet.Packet) { p.Head()[16], p.Head()[17] = 0, 50 },
		"TCP offset 0":      func(p *packet.Packet) { p.Head()[14+24+12] = 0 },
		"TCP offset 4":      func(p *packet.Packet) { p.Head()[14+24+12] = 0x40 },
		"three tags":        func(p *packet.Packet) { copy(p.Head()[12:], "\x81\x00\x00\x01\x81\x00\x00\x01\x81\x00") },
	} {
		var p packet.Packet
		good.gso(&p, 128, 1000, 500)
		var s Segmenter
		if !Sanity(&p) || !s.Start(&p) {
			t.Fatal("good packet refused")
		}
		spoil(&p)
		if s.Start(&p) {
			t.Errorf("%s: accepted", name)
		}
		var out packet.Packet
		if s.Next(&out) {
			t.Errorf("%s: refused, yet there is a segment", name)
		}
		if p.GSOType != packet.GSONone && Sanity(&p) {
			t.Errorf("%s: sane", name)
		}
	}
}

func TestNoAllocs(t *testing.T) {
	c := spec{payload: pattern(20000), tags: 1}
	var p, q, out packet.Packet
	c.gso(&p, 128, 4096, 1448)
	s := new(Segmenter)
	if n := testing.AllocsPerRun(20, func() {
		if !Sanity(&p) || !s.Start(&p) {
			t.Fatal("refused")
		}
		for s.Next(&out) {
			q.CloneFrom(&out)
		}
		q.Flags, q.CsumStart, q.CsumOffset = packet.CsumPartial, 38, 16
		if !Sanity(&q) || !Complete(&q) {
			t.Fatal("refused")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// With a routing header the pseudo header has the final destination, which only
// the sender's sum knows; it must come through to every segment.
func TestSegmentRouted(t *testing.T) {
	c := spec{v6: true, ext: 2, payload: pattern(1000), seq: 5}
	b, l4 := c.build()
	b[20] = 43   // the first extension header is a routing header, type 4, one
	b[l4-13] = 1 // segment left
	const other = 0x1234
	old := binary.BigEndian.Uint16(b[l4+16:])
	binary.BigEndian.PutUint16(b[l4+16:], uint16(onesum(uint32(old), []byte{other >> 8, other & 0xff})))
	var p packet.Packet
	lend(&p, b, 128, 300)
	p.Flags, p.CsumStart, p.CsumOffset = packet.CsumPartial, uint16(l4), 16
	p.GSOType, p.GSOSize = packet.GSOTCPv6, 333
	var s Segmenter
	for i, g := range cutAll(t, &s, &p) {
		// Undo the difference; then the frame verifies as if it were not routed.
		sum := ^binary.BigEndian.Uint16(g[l4+16:])
		sum = uint16(onesum(uint32(sum), []byte{0xff &^ (other >> 8), 0xff &^ (other & 0xff)}))
		binary.BigEndian.PutUint16(g[l4+16:], ^sum)
		if err := verify(g); err != nil {
			t.Errorf("segment %d: %v", i, err)
		}
	}
	p.Flags = 0
	if s.Start(&p) || Sanity(&p) {
		t.Error("nobody can know the pseudo header's sum")
	}
}
