package virtio_test

import (
	"math/rand/v2"
	"testing"

	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
)

// line is a position of a ring of 8 in two rounds.
func line(at int) uint16 { return uint16(at%8) | uint16(1-at/8%2)<<15 }

// When the driver is to be notified: exactly when the descriptor that it names is among those used
// since the last time, wherever both are (B39, B40), and always the first time.
func TestPackedNotifyEvent(t *testing.T) {
	const features = virtio.FRingPacked | virtio.FEventIdx
	g := newRig(t, 8, features, false)
	for old := range 16 {
		for n := 1; n <= 8; n++ {
			for event := range 16 {
				g.reset(t, features, false, line(old+15))
				use := func(n int) {
					for range n {
						g.ring.Add(virtiotest.Elem{Addr: low, Len: 60})
					}
					g.ring.Publish()
					g.dev.Use(g.dev.Gather(n))
					for range n {
						g.ring.Take()
					}
				}
				g.ring.RawDriverEvent(line(event+8), virtiotest.EventsDesc)
				use(1)
				if !g.dev.NeedNotify() {
					t.Fatal("the first used buffer does not notify")
				}
				g.ring.RawDriverEvent(line(event), virtiotest.EventsDesc)
				use(n)
				if got, want := g.dev.NeedNotify(), (event-old+16)%16 < n; got != want {
					t.Errorf("%d used from %d on, event %d: notify %v", n, old, event, got)
				}
			}
		}
	}
}

// A driver that names a descriptor without EVENT_IDX, or says what means nothing, is notified; one that names
// what does not exist harms nobody.
func TestPackedNotifyNonsense(t *testing.T) {
	for _, c := range []struct {
		features   uint64
		off, flags uint16
		want       bool
	}{
		{0, 7, virtiotest.EventsDesc, true},
		{virtio.FEventIdx, 0, 3, true},
		{virtio.FEventIdx, 0x7fff, virtiotest.EventsDesc, false},
		{virtio.FEventIdx, 0xffff, virtiotest.EventsDesc, false},
		{virtio.FEventIdx, 0, 0xfff0 | virtiotest.EventsDisable, false},
	} {
		g := newRig(t, 8, virtio.FRingPacked|c.features, false)
		g.dev.NeedNotify() // not the first
		g.ring.RawDriverEvent(c.off, c.flags)
		g.ring.Add(virtiotest.Elem{Addr: low, Len: 60})
		g.ring.Publish()
		g.dev.Use(g.dev.Gather(1))
		if got := g.dev.NeedNotify(); got != c.want {
			t.Errorf("%+v: notify %v", c, got)
		}
	}
}

// Where a ring begins for what front ends say.
func TestPackedBase(t *testing.T) {
	for _, c := range []struct {
		name  string
		base  uint32
		begun bool   // there is a used descriptor in the ring
		want  uint32 // 0: refused
	}{
		{"as it was told", 0x80058005, true, 0x80058005},
		{"DPDK: one half only", 0x8000, false, 0x80008000},
		{"DPDK, later", 0x8003, true, 0x80038003},
		{"second round", 0x00030003, true, 0x00030003},
		{"UML: a new ring", 0, false, 0x80008000},
		{"second round, at its beginning", 0, true, 0},
		{"taken, but not used", 0x80038005, true, 0x80038003},
	} {
		g := newRig(t, 8, virtio.FRingPacked, false)
		if !c.begun {
			clear(g.m.At(low, 8*16))
		}
		cfg := config(t, g.m, g.ring, virtio.FRingPacked, false, 0)
		cfg.Base = c.base
		if c.begun && c.base == 0 {
			g.ring.Reset(0)
		} else if c.begun {
			g.ring.RawPacked(1, 0, 0, 0, virtiotest.AvailBit|virtiotest.UsedBit)
		}
		dev, err := virtio.New(cfg)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := dev.Base(); got != c.want {
			t.Errorf("%s: base %#x is taken for %#x, want %#x", c.name, c.base, got, c.want)
		}
	}
	for _, base := range []uint32{8, 0x8008, 0x80088000, 0x80000009, 0xffffffff} {
		g := newRig(t, 8, virtio.FRingPacked, false)
		cfg := config(t, g.m, g.ring, virtio.FRingPacked, false, 0)
		cfg.Base = base
		if _, err := virtio.New(cfg); err == nil {
			t.Errorf("base %#x accepted in a ring of 8", base)
		}
	}
}

// A back end that died said nothing of where it stood, and the front end says where the ring began. What is
// in the ring says it better, wherever driver and device are.
func TestPackedResume(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const features = virtio.FRingPacked | virtio.FIndirectDesc
	for _, write := range []bool{false, true} {
		for range 300 {
			g := newRig(t, 1+rng.IntN(20), features, write)
			for range rng.IntN(200) {
				switch rng.IntN(3) {
				case 0:
					g.ring.Add(virtiotest.Elem{Addr: low, Len: 60, Write: write})
					g.ring.Publish()
				case 1:
					g.dev.Use(g.dev.Gather(rng.IntN(8)))
				case 2:
					g.ring.Take()
				}
			}
			cfg := config(t, g.m, g.ring, features, write, g.ring.Start())
			dev, err := virtio.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if at := g.dev.Base() & 0xffff; at == uint32(g.ring.Size-1) {
				continue // one before the beginning: what was said could be true
			}
			if dev.Base() != g.dev.Base() {
				t.Fatalf("ring of %d: resumed at %#x, stood at %#x", g.ring.Size, dev.Base(), g.dev.Base())
			}
		}
	}
}

func TestNewPackedRefuses(t *testing.T) {
	for _, c := range []virtio.Config{
		{Size: 0},
		{Size: 65536},
		{Size: -8},
		{Size: 8, Desc: 8},
		{Size: 8, Avail: 2},
		{Size: 8, Used: 2},
	} {
		c.Features = virtio.FRingPacked
		if _, err := virtio.New(c); err == nil {
			t.Errorf("%+v accepted", c)
		}
	}
}

// A chain behind others that has no end takes what is left of the ring and no more, and
// what was gathered before it stays what it is.
func TestPackedEndless(t *testing.T) {
	g := newRig(t, 8, virtio.FRingPacked, false)
	g.lay([]desc{{low, 60, 0, 0}}, nil, 0)
	for i := 1; i < 8; i++ {
		g.ring.RawPacked(i, low, 1, 7, virtiotest.AvailBit|next)
	}
	if n := g.dev.Gather(32); n != 2 {
		t.Fatalf("%d chains", n)
	}
	if a, b := g.describe(&g.dev.Chains[0]), g.describe(&g.dev.Chains[1]); a != "60 60@0:0" || b != "bad chain" {
		t.Errorf("got %s and %s", a, b)
	}
	g.dev.Use(2)
	if g.dev.Base() != 0 { // the second round begins
		t.Errorf("base %#x", g.dev.Base())
	}
}

// DPDK's driver leaves WRITE in its transmit tables.
func TestPackedWriteInTable(t *testing.T) {
	g := newRig(t, 8, virtio.FRingPacked|virtio.FIndirectDesc, false)
	g.lay([]desc{{tables, 32, indirect, 0}}, []desc{{low, 12, write | next, 1}, {low + 0x100, 60, 0, 0}}, 0)
	g.dev.Gather(1)
	if got := g.describe(&g.dev.Chains[0]); got != "72 12@0:0 60@0:100" {
		t.Errorf("got %s", got)
	}
}
