package packet

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/gvswitch/gvswitch/internal/mem"
)

func frame(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// cut lends b to p in random pieces after a head of h bytes.
func cut(p *Packet, b []byte, h int) {
	p.Reset()
	copy(p.Room(), b[:h])
	p.SetHead(h)
	for rest := b[h:]; len(rest) > 0; {
		n := 1 + rand.IntN(len(rest))
		if int(p.NSegs) == MaxSegs-1 {
			n = len(rest)
		}
		p.AddSeg(mem.AddrOf(rest), uint32(n))
		rest = rest[n:]
	}
}

// Whatever the layout, the frame's bytes are the same through every way to
// read them.
func TestLayoutsEqual(t *testing.T) {
	var p, q Packet
	for range 2000 {
		b := frame(MinFrame + rand.IntN(2000))
		cut(&p, b, min(len(b), rand.IntN(HeadCopy+1)))
		if int(p.Len) != len(b) {
			t.Fatalf("Len %d, want %d", p.Len, len(b))
		}
		if got := p.AppendTo(nil); !bytes.Equal(got, b) {
			t.Fatal("AppendTo differs")
		}
		off := rand.IntN(len(b))
		n := 1 + rand.IntN(len(b)-off)
		dst := make([]byte, n+1)
		p.CopyOut(mem.AddrOf(dst), off, n)
		if !bytes.Equal(dst[:n], b[off:off+n]) || dst[n] != 0 {
			t.Fatalf("CopyOut(%d, %d) differs", off, n)
		}
		q.CloneFrom(&p)
		want := rand.IntN(HeadCap + 1)
		if ok := p.Pull(want); ok != (want <= len(b)) {
			t.Fatalf("Pull(%d) of %d: %v", want, len(b), ok)
		}
		for _, x := range []*Packet{&p, &q} {
			if got := x.AppendTo(nil); !bytes.Equal(got, b) {
				t.Fatal("frame changed")
			}
		}
	}
}

func TestPushPopKeepOffsets(t *testing.T) {
	var p Packet
	b := frame(100)
	p.SetBytes(b)
	p.Flags, p.CsumStart, p.CsumOffset, p.HdrLen = CsumPartial, 34, 16, 54
	if !p.Push(4) || p.CsumStart != 38 || p.HdrLen != 58 || p.Len != 104 {
		t.Fatalf("after Push: %+v", p.CsumStart)
	}
	if !p.Pop(4) || p.CsumStart != 34 || p.HdrLen != 54 || !bytes.Equal(p.AppendTo(nil), b) {
		t.Fatal("Pop does not undo Push")
	}
	if p.Push(Headroom + 1) {
		t.Error("pushed beyond the headroom")
	}
	if p.Pop(35) {
		t.Error("popped beyond the checksum start")
	}
}

func TestPullBeyondBuffer(t *testing.T) {
	var p Packet
	p.SetBytes(frame(1000))
	if !p.Pull(HeadCap) || p.Pull(HeadCap+1) {
		t.Error("Pull does not stop at HeadCap")
	}
}

func TestBurstArena(t *testing.T) {
	b := new(Burst)
	b.Pkts[0].SetBytes(frame(200))
	b.Start(1)
	n := 0
	for {
		if _, ok := b.Clone(0); !ok {
			break
		}
		n++
	}
	if n != len(b.Pkts)-1 {
		t.Errorf("%d clones", n)
	}
	b.Reclaim(1)
	if i, ok := b.Clone(0); !ok || i != 1 {
		t.Error("no clone after Reclaim")
	}
}

func TestNoAllocs(t *testing.T) {
	b := new(Burst)
	f := frame(1500)
	dst := make([]byte, 1500)
	if n := testing.AllocsPerRun(100, func() {
		b.Pkts[0].SetBytes(f)
		b.Start(1)
		i, _ := b.Clone(0)
		p := &b.Pkts[i]
		p.Push(4)
		p.Pop(4)
		p.Pull(200)
		p.CopyOut(mem.AddrOf(dst), 0, int(p.Len))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestDropNames(t *testing.T) {
	seen := map[string]bool{}
	for r := range NumDropReasons {
		if s := r.String(); s == "" || seen[s] {
			t.Errorf("reason %d: name %q is empty or taken", r, s)
		} else {
			seen[s] = true
		}
	}
}
