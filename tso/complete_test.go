package tso

import (
	"bytes"
	"encoding/hex"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/packet"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// lent keeps the last frames that were lent alive: a packet holds addresses only.
var (
	lent  [256][]byte
	nlent int
)

// lend makes p the frame b with a head of h bytes and a tail of pieces of n
// bytes (the last takes what is left when there are too many).
func lend(p *packet.Packet, b []byte, h, n int) {
	lent[nlent%len(lent)] = b
	nlent++
	p.Reset()
	h = min(h, len(b))
	copy(p.Room(), b[:h])
	p.SetHead(h)
	for rest := b[h:]; len(rest) > 0; {
		k := min(n, len(rest))
		if int(p.NSegs) == packet.MaxSegs-1 {
			k = len(rest)
		}
		p.AddSeg(mem.AddrOf(rest), uint32(k))
		rest = rest[k:]
	}
}

// B51: a UDP checksum that comes out as 0 is sent as ffff, a TCP one as 0.
func TestCompleteZero(t *testing.T) {
	udp := unhex(t, "020000000002 020000000001 0800 4500001e00010000401166ba 0a090001 0a090002 0fa00035000a001e dbf0")
	want := unhex(t, "020000000002 020000000001 0800 4500001e00010000401166ba 0a090001 0a090002 0fa00035000affff dbf0")
	// The pseudo header: addresses, 17, length 10.
	pseudo := uint32(0x0a09) + 1 + 0x0a09 + 2 + 17 + 10
	udp[40], udp[41] = byte(pseudo>>8), byte(pseudo)
	for h := 42; h <= 44; h++ {
		var p packet.Packet
		lend(&p, udp, h, 1)
		p.Flags, p.CsumStart, p.CsumOffset = packet.CsumPartial, 34, 6
		if !Complete(&p) || p.Flags != 0 {
			t.Fatal("not completed")
		}
		if got := p.AppendTo(nil); !bytes.Equal(got, want) {
			t.Errorf("got  %x\nwant %x", got, want)
		}
	}

	// A TCP header whose words sum to ffff with the pseudo header.
	tcp := unhex(t, "020000000002 020000000001 0800 4500002800010000400666bb 0a090001 0a090002 0fa00035 00000000 00000000 50100000 0000 0000")
	pseudo = 0x0a09 + 1 + 0x0a09 + 2 + 6 + 20
	tcp[50], tcp[51] = byte(pseudo>>8), byte(pseudo)
	rest := 0xffff - (pseudo + 0x0fa0 + 0x0035 + 0x5010)
	tcp[48], tcp[49] = byte(rest>>8), byte(rest)
	var p packet.Packet
	p.SetBytes(tcp)
	p.Flags, p.CsumStart, p.CsumOffset = packet.CsumPartial, 34, 16
	if !Complete(&p) {
		t.Fatal("not completed")
	}
	if got := p.AppendTo(nil); got[50] != 0 || got[51] != 0 {
		t.Errorf("TCP checksum %x, want 0000", got[50:52])
	}
}

// The field may lie in the tail, and a head may end anywhere, in the middle of a
// word too.
func TestCompleteLayouts(t *testing.T) {
	frame := tcp4(1459, nil)
	var want []byte
	for h := 14; h <= packet.HeadCopy; h++ {
		for _, seg := range []int{1, 3, 100, 4000} {
			var p packet.Packet
			lend(&p, frame, h, seg)
			p.Flags, p.CsumStart, p.CsumOffset = packet.CsumPartial, 34, 16
			if !Complete(&p) {
				t.Fatalf("head %d: refused", h)
			}
			got := p.AppendTo(nil)
			if want == nil {
				want = got
				if err := verify(want); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("head %d, segments of %d: differs", h, seg)
			}
		}
	}
}

func TestCompleteRefuses(t *testing.T) {
	frame := tcp4(100, nil)
	n := uint16(len(frame))
	for _, c := range []struct{ start, off uint16 }{
		{0xffff, 0xffff}, {0xffff, 0}, {n - 1, 0}, {n - 2, 1}, {n, 0}, {0, 16}, {13, 3}, {34, n}, {34, 0xffff}, {0xffff, 2},
	} {
		var p packet.Packet
		lend(&p, frame, 60, 50)
		p.Flags, p.CsumStart, p.CsumOffset = packet.CsumPartial, c.start, c.off
		if Complete(&p) {
			t.Errorf("start %d, offset %d accepted", c.start, c.off)
		}
		if !bytes.Equal(p.AppendTo(nil), frame) {
			t.Errorf("start %d, offset %d: refused but changed", c.start, c.off)
		}
	}
	var p packet.Packet
	p.SetBytes(frame)
	p.Flags, p.CsumStart, p.CsumOffset, p.GSOType, p.GSOSize = packet.CsumPartial, 34, 16, packet.GSOTCPv4, 10
	if Complete(&p) {
		t.Error("GSO packet completed")
	}
}

func TestCompleteSCTP(t *testing.T) {
	payload := bytes.Repeat([]byte("chunk"), 41)
	frame := append(unhex(t, "020000000002 020000000001 0800 450000ed00010000408465a0 0a090001 0a090002 0fa00035 01020304 00000000"), payload...)
	want := bytes.Clone(frame)
	crc := crc32.Checksum(frame[34:], crc32.MakeTable(crc32.Castagnoli))
	want[42], want[43], want[44], want[45] = byte(crc), byte(crc>>8), byte(crc>>16), byte(crc>>24)
	var p packet.Packet
	lend(&p, frame, 40, 7)
	p.Flags, p.CsumStart, p.CsumOffset = packet.CsumPartial, 34, 8
	if !Sanity(&p) || !Complete(&p) {
		t.Fatal("refused")
	}
	if got := p.AppendTo(nil); !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}
