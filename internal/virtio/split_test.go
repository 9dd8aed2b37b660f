package virtio_test

import (
	"testing"

	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
)

// Without INDIRECT_DESC a table is not followed.
func TestIndirectOnlyWhenNegotiated(t *testing.T) {
	for _, kind := range kinds {
		g := newRig(t, 8, kind, false)
		g.lay([]desc{{tables, 16, indirect, 0}}, []desc{{low, 1, 0, 0}}, 0)
		g.dev.Gather(1)
		if got := g.describe(&g.dev.Chains[0]); got != "bad chain" {
			t.Errorf("features %#x: got %s", kind, got)
		}
	}
}

// A head that is no descriptor has nothing to be returned, and the next is served.
func TestBadHead(t *testing.T) {
	g := newRig(t, 8, 0, false)
	g.ring.RawDesc(0, low, 60, 0, 0)
	for _, h := range []uint16{8, 0xffff, 0} {
		g.ring.Post(h)
	}
	g.ring.Publish()
	if n := g.dev.Gather(32); n != 3 {
		t.Fatalf("%d chains", n)
	}
	for i, want := range []string{"bad head", "bad head", "60 60@0:0"} {
		if got := g.describe(&g.dev.Chains[i]); got != want {
			t.Errorf("chain %d: %s, want %s", i, got, want)
		}
	}
}

// An available index that runs ahead of any sense bounds the work by the ring.
func TestAvailIndexJump(t *testing.T) {
	g := newRig(t, 8, 0, false)
	g.ring.RawAvailIdx(40000)
	total := 0
	for range 10 {
		n := g.dev.Gather(32)
		total += n
		g.dev.Use(n)
	}
	if total > 80 {
		t.Errorf("%d chains of a ring of 8 in 10 looks", total)
	}
}

// Chains come in order, at most as many as wanted, over many turns of the
// ring and of the 16-bit index; what is not consumed comes again.
func TestOrderOverWrap(t *testing.T) {
	for _, kind := range kinds {
		g := newRig(t, 8, kind, false)
		start := uint16(65530)
		if g.ring.Packed() {
			start = 1<<15 | 3
		}
		g.reset(t, kind, false, start)
		sent, seen := 0, 0
		for seen < 1000 {
			for g.ring.Free() > 0 {
				g.ring.Add(virtiotest.Elem{Addr: low + uint64(sent%1000), Len: uint32(sent%500 + 1)})
				sent++
			}
			g.ring.Publish()
			n := g.dev.Gather(5)
			if n > 5 {
				t.Fatalf("%d chains, 5 wanted", n)
			}
			take := n - seen%2
			for i := range take {
				c := &g.dev.Chains[i]
				if int(c.Len) != seen%500+1 {
					t.Fatalf("features %#x: chain %d has length %d", kind, seen, c.Len)
				}
				seen++
			}
			g.dev.Use(take)
			for {
				if _, _, ok := g.ring.Take(); !ok {
					break
				}
			}
			if g.ring.Free()+sent-seen != 8 {
				t.Fatalf("features %#x: %d descriptors free with %d chains away", kind, g.ring.Free(), sent-seen)
			}
			want := uint32(start + uint16(seen))
			if g.ring.Packed() {
				at := uint32((3 + seen) % 16) // index and round
				want = at&7 | (1-at/8)<<15
				want |= want << 16
			}
			if g.dev.Base() != want {
				t.Fatalf("features %#x: base %#x after %d, want %#x", kind, g.dev.Base(), seen, want)
			}
		}
	}
}

// When the driver is to be notified (B39): with event indices exactly when its
// index is passed, on all sides of the wrap, and always the first time.
func TestNotifyEvent(t *testing.T) {
	for _, c := range []struct {
		old   uint16
		n     int
		event uint16
		want  bool
	}{
		{10, 1, 10, true},
		{10, 1, 9, false},
		{10, 1, 11, false},
		{10, 4, 13, true},
		{10, 4, 14, false},
		{65534, 4, 65535, true},
		{65534, 4, 0, true},
		{65534, 4, 1, true},
		{65534, 4, 2, false},
		{65534, 4, 65533, false},
	} {
		g := newRig(t, 8, virtio.FEventIdx, false)
		g.ring.Reset(c.old - 1)
		g.dev = device(t, g.m, g.ring, virtio.FEventIdx, false, c.old-1)
		use := func(n int) {
			for range n {
				g.ring.Post(0)
			}
			g.ring.Publish()
			g.dev.Use(g.dev.Gather(n))
		}
		g.ring.RawUsedEvent(c.old + 1000)
		use(1)
		if !g.dev.NeedNotify() {
			t.Error("the first used buffer does not notify")
		}
		g.ring.RawUsedEvent(c.event)
		use(c.n)
		if got := g.dev.NeedNotify(); got != c.want {
			t.Errorf("%d used from %d on, event %d: notify %v", c.n, c.old, c.event, got)
		}
	}
}

func TestNotifyFlag(t *testing.T) {
	for _, kind := range kinds {
		g := newRig(t, 8, kind, false)
		for _, on := range []bool{true, false, true} {
			g.ring.Interrupts(on)
			g.ring.Add(virtiotest.Elem{Addr: low, Len: 60})
			g.ring.Publish()
			g.dev.Use(g.dev.Gather(1))
			if g.dev.NeedNotify() != on {
				t.Errorf("features %#x: interrupts %v: notify %v", kind, on, !on)
			}
		}
	}
}

// The device asks for kicks only while it is armed, and never sleeps on a chain.
func TestArm(t *testing.T) {
	for i := range 2 * len(kinds) {
		features := kinds[i/2]
		if i%2 == 1 {
			features |= virtio.FEventIdx
		}
		g := newRig(t, 8, features, false)
		add := func() {
			if _, ok := g.ring.Add(virtiotest.Elem{Addr: low, Len: 60}); !ok {
				t.Fatal("ring full")
			}
			g.ring.Publish()
		}
		add()
		if features&virtio.FEventIdx == 0 && g.ring.NeedKick() {
			t.Error("a new ring wants kicks")
		}
		if g.dev.Arm() {
			t.Error("armed with a chain waiting, and no word of it")
		}
		g.dev.Disarm()
		g.dev.Use(g.dev.Gather(32))
		if !g.dev.Arm() {
			t.Error("not empty")
		}
		g.ring.NeedKick()
		add()
		if !g.ring.NeedKick() {
			t.Errorf("features %#x: armed, but no kick", features)
		}
		g.dev.Disarm()
		add()
		if g.ring.NeedKick() {
			t.Errorf("features %#x: disarmed, but kicked", features)
		}
	}
}

func TestNewSplitRefuses(t *testing.T) {
	for _, c := range []virtio.Config{
		{Size: 0},
		{Size: 3},
		{Size: 65536},
		{Size: -8},
		{Size: 8, Desc: 8},
		{Size: 8, Avail: 1},
		{Size: 8, Used: 2},
	} {
		if _, err := virtio.NewSplit(c); err == nil {
			t.Errorf("%+v accepted", c)
		}
	}
}

func TestNoAllocs(t *testing.T) {
	for _, kind := range kinds {
		g := newRig(t, 256, kind|virtio.FIndirectDesc|virtio.FEventIdx, false)
		for i := range 256 {
			if g.ring.Packed() {
				g.ring.RawPacked(i, low, 60, 0, virtiotest.AvailBit)
			} else {
				g.ring.RawDesc(i, low, 60, 0, 0)
			}
		}
		idx := uint16(0)
		if n := testing.AllocsPerRun(1000, func() {
			for range 32 {
				if !g.ring.Packed() {
					g.ring.RawAvail(int(idx)&255, idx&255)
				} else if idx < 256 {
					g.ring.RawPacked(int(idx), low, 60, idx, virtiotest.AvailBit)
				}
				idx++
			}
			if !g.ring.Packed() {
				g.ring.RawAvailIdx(idx)
			}
			g.dev.Use(g.dev.Gather(32))
			g.dev.NeedNotify()
			g.dev.Arm()
			g.dev.Disarm()
		}); n != 0 {
			t.Errorf("features %#x: %v allocations", kind, n)
		}
	}
}

// What a fault interrupts before Use has not happened: the driver sees each chain once.
func TestInterrupted(t *testing.T) {
	for _, kind := range kinds {
		g := newRig(t, 8, kind, true)
		for range 4 {
			g.ring.Add(virtiotest.Elem{Addr: low, Len: 60, Write: true})
		}
		g.ring.Publish()
		g.dev.Gather(4)
		g.dev.Chains[0].Written = 11 // here the lender's memory vanishes
		n := g.dev.Gather(4)
		if n != 4 {
			t.Fatalf("%d chains", n)
		}
		for i := range n {
			g.dev.Chains[i].Written = uint32(20 + i)
		}
		g.dev.Use(n)
		for i := range 4 {
			if _, l, ok := g.ring.Take(); !ok || l != uint32(20+i) {
				t.Errorf("features %#x: used entry %d: %d bytes, %v", kind, i, l, ok)
			}
		}
		if _, _, ok := g.ring.Take(); ok {
			t.Error("more used entries than chains")
		}
	}
}
