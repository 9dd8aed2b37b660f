package vnet

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/gvswitch/gvswitch/packet"
)

// hdr makes a header.
func hdr(flags, gso uint8, hdrLen, size, start, offset uint16) (h [Len]byte) {
	h[0], h[1] = flags, gso
	for i, v := range []uint16{hdrLen, size, start, offset} {
		binary.LittleEndian.PutUint16(h[2+2*i:], v)
	}
	return h
}

// frame makes tags, IP of the given version with opt bytes of options or
// extension, and a transport header with payload up to n bytes in all.
func frame(n, tags, version, opt int, proto uint8) []byte {
	b := make([]byte, 0, n+200)
	b = append(b, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1)
	for range tags {
		b = append(b, 0x81, 0, 0, 5)
	}
	if version == 4 {
		b = append(b, 8, 0, 0x45+byte(opt/4), 0, 0, 0, 0, 0, 0x40, 0, 64, proto, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2)
		b = append(b, make([]byte, opt)...)
	} else {
		b = append(b, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, proto, 64)
		b = append(b, make([]byte, 32)...)
		if opt > 0 {
			b[len(b)-34] = 60
			b = append(b, proto, byte(opt/8-1))
			b = append(b, make([]byte, opt-2)...)
		}
	}
	l4 := make([]byte, 20)
	if proto == protoTCP {
		l4[12] = 0x80 // 32 bytes of header
	}
	b = append(b, l4...)
	if len(b) < n {
		b = append(b, make([]byte, n-len(b))...)
	}
	return b[:n]
}

func TestDecode(t *testing.T) {
	v4, v6 := frame(3000, 0, 4, 0, protoTCP), frame(3000, 0, 6, 0, protoTCP)
	arp := frame(3000, 0, 4, 0, protoTCP)
	arp[13] = 6
	frag := frame(3000, 0, 4, 0, protoTCP)
	frag[14+6] = 0x20
	cutIHL := frame(60, 0, 4, 0, protoTCP)
	cutIHL[14] = 0x4f
	doff := func(b byte, n int) []byte {
		f := frame(n, 0, 4, 0, protoTCP)
		f[34+12] = b
		return f
	}
	for _, c := range []struct {
		name   string
		h      [Len]byte
		frame  []byte
		ok     bool
		hdrLen uint16
	}{
		{"nothing", hdr(0, 0, 0, 0, 0, 0), v4, true, 0},
		{"nothing, stale fields", hdr(0, 0, 9999, 9999, 9999, 9999), v4, true, 0},
		{"checksum", hdr(1, 0, 0, 0, 34, 16), v4, true, 0},
		{"checksum field ends with the frame", hdr(1, 0, 0, 0, 58, 0), v4[:60], true, 0},
		{"start beyond the frame", hdr(1, 0, 0, 0, 0xffff, 16), v4, false, 0},
		{"start at the last byte", hdr(1, 0, 0, 0, 59, 0), v4[:60], false, 0},
		{"field half outside", hdr(1, 0, 0, 0, 34, 25), v4[:60], false, 0},
		{"field outside by wrap", hdr(1, 0, 0, 0, 34, 0xfffe), v4, false, 0},
		{"start in Ethernet", hdr(1, 0, 0, 0, 13, 16), v4, false, 0},
		{"field beyond any header", hdr(1, 0, 0, 0, 2000, 16), v4, false, 0},
		{"valid", hdr(2, 0, 0, 0, 0, 0), v4, true, 0},
		{"tso4", hdr(1, 1, 66, 1448, 34, 16), v4, true, 66},
		{"tso4, ECN", hdr(1, 0x81, 66, 1448, 34, 16), v4, true, 66},
		{"tso4, hdr_len short", hdr(1, 1, 14, 1448, 34, 16), v4, true, 66},
		{"tso4, hdr_len absurd", hdr(1, 1, 65535, 1448, 34, 16), v4, false, 0},
		{"tso4, size 0", hdr(1, 1, 66, 0, 34, 16), v4, false, 0},
		{"tso4, no checksum", hdr(0, 1, 66, 1448, 34, 16), v4, false, 0},
		{"tso4, start elsewhere", hdr(1, 1, 66, 1448, 35, 16), v4, false, 0},
		{"tso4, field elsewhere", hdr(1, 1, 66, 1448, 34, 6), v4, false, 0},
		{"tso4 on IPv6", hdr(1, 1, 86, 1448, 54, 16), v6, false, 0},
		{"tso4 on ARP", hdr(1, 1, 66, 1448, 34, 16), arp, false, 0},
		{"tso4 on UDP", hdr(1, 1, 66, 1448, 34, 16), frame(3000, 0, 4, 0, protoUDP), false, 0},
		{"tso4 on a fragment", hdr(1, 1, 66, 1448, 34, 16), frag, false, 0},
		{"tso4 on 20 bytes", hdr(1, 1, 0, 1448, 14, 4), v4[:20], false, 0},
		{"tso4, IHL 15 and cut", hdr(1, 1, 0, 1448, 34, 16), cutIHL, false, 0},
		{"tso4, data offset 0", hdr(1, 1, 66, 1448, 34, 16), doff(0, 3000), false, 0},
		{"tso4, data offset 15 and cut", hdr(1, 1, 66, 1448, 34, 16), doff(0xf0, 90), false, 0},
		{"tso4, options", hdr(1, 1, 106, 1448, 74, 16), frame(3000, 0, 4, 40, protoTCP), true, 106},
		{"tso4, two tags", hdr(1, 1, 74, 1448, 42, 16), frame(3000, 2, 4, 0, protoTCP), true, 74},
		{"tso4, three tags", hdr(1, 1, 78, 1448, 46, 16), frame(3000, 3, 4, 0, protoTCP), false, 0},
		{"tso6", hdr(1, 4, 86, 1428, 54, 16), v6, true, 86},
		{"tso6, extension", hdr(1, 4, 110, 1428, 78, 16), frame(3000, 0, 6, 24, protoTCP), true, 110},
		{"tso6 on IPv4", hdr(1, 4, 66, 1448, 34, 16), v4, false, 0},
		{"uso4", hdr(1, 5, 42, 1000, 34, 6), frame(3000, 0, 4, 0, protoUDP), true, 42},
		{"uso6", hdr(1, 5, 62, 1000, 54, 6), frame(3000, 0, 6, 0, protoUDP), true, 62},
		{"uso, ECN", hdr(1, 0x85, 42, 1000, 34, 6), frame(3000, 0, 4, 0, protoUDP), false, 0},
		{"uso on TCP", hdr(1, 5, 42, 1000, 34, 16), v4, false, 0},
		{"ufo", hdr(1, 3, 42, 1000, 34, 6), frame(3000, 0, 4, 0, protoUDP), false, 0},
		{"unknown type", hdr(1, 0xff, 66, 1448, 34, 16), v4, false, 0},
		{"bare ECN", hdr(1, 0x80, 66, 1448, 34, 16), v4, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p packet.Packet
			p.SetBytes(c.frame)
			if ok := Decode(&c.h, &p); ok != c.ok {
				t.Fatalf("Decode = %v", ok)
			} else if !ok {
				return
			}
			if p.HdrLen != c.hdrLen {
				t.Errorf("HdrLen %d, want %d", p.HdrLen, c.hdrLen)
			}
			if !bytes.Equal(p.AppendTo(nil), c.frame) {
				t.Error("the frame changed")
			}
		})
	}
}

// What was decoded encodes to the same header, and moves with a tag.
func TestEncode(t *testing.T) {
	for _, h := range [][Len]byte{
		hdr(0, 0, 0, 0, 0, 0),
		hdr(1, 0, 0, 0, 34, 16),
		hdr(2, 0, 0, 0, 0, 0),
		hdr(1, 0x81, 66, 1448, 34, 16),
	} {
		var p packet.Packet
		p.SetBytes(frame(3000, 0, 4, 0, protoTCP))
		if !Decode(&h, &p) {
			t.Fatalf("%x refused", h)
		}
		var got [Len]byte
		for i := range got {
			got[i] = 0xcc
		}
		if Encode(&p, &got); got != h {
			t.Errorf("got %x, want %x", got, h)
		}
		p.Push(4)
		Encode(&p, &got)
		if h[0]&1 != 0 && got[offStart] != 38 {
			t.Errorf("csum_start %d behind a tag", got[offStart])
		}
		p.Flags |= packet.CsumValid
		if Encode(&p, &got); got[0] == 3 {
			t.Error("both checksum flags")
		}
	}
	var h [Len]byte
	if PutNumBuffers(&h, 0x102); h[10] != 2 || h[11] != 1 {
		t.Error("num_buffers")
	}
}

func TestNoAllocs(t *testing.T) {
	var p packet.Packet
	f := frame(3000, 1, 6, 24, protoTCP)
	h := hdr(1, 4, 90, 1428, 82, 16)
	if n := testing.AllocsPerRun(100, func() {
		p.SetBytes(f)
		if !Decode(&h, &p) {
			t.Fatal("refused")
		}
		Encode(&p, &h)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Any header with any frame: no panic, the frame stays what it is, and what
// Decode promises holds.
func FuzzDecode(f *testing.F) {
	add := func(h [Len]byte, b []byte) { f.Add(h[:], b) }
	add(hdr(1, 1, 66, 1448, 34, 16), frame(3000, 0, 4, 0, protoTCP))
	add(hdr(1, 4, 110, 1428, 78, 16), frame(300, 0, 6, 24, protoTCP))
	add(hdr(1, 5, 42, 1000, 38, 6), frame(100, 1, 4, 0, protoUDP))
	add(hdr(1, 1, 66, 1448, 0xffff, 0xffff), frame(60, 2, 4, 0, protoTCP))
	add(hdr(3, 0, 0, 0, 14, 0), []byte{1})
	f.Fuzz(func(t *testing.T, head, b []byte) {
		var h [Len]byte
		copy(h[:], head)
		if len(b) > packet.MaxFrame {
			b = b[:packet.MaxFrame]
		}
		var p packet.Packet
		p.SetBytes(b)
		ok := Decode(&h, &p)
		if !bytes.Equal(p.AppendTo(nil), b) {
			t.Fatal("the frame changed")
		}
		if !ok {
			return
		}
		if p.Flags&packet.CsumPartial != 0 &&
			(p.CsumStart < packet.MinFrame || int(p.CsumStart)+int(p.CsumOffset)+2 > int(p.HeadLen)) {
			t.Fatalf("checksum %d+%d in a head of %d", p.CsumStart, p.CsumOffset, p.HeadLen)
		}
		if p.GSOType != packet.GSONone && (p.GSOSize == 0 || p.HdrLen == 0 || p.HdrLen > p.HeadLen ||
			p.Flags&packet.CsumPartial == 0 || p.HdrLen <= p.CsumStart) {
			t.Fatalf("GSO state: size %d, headers %d", p.GSOSize, p.HdrLen)
		}
	})
}
