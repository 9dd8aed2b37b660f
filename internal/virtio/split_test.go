package virtio_test

import (
	"fmt"
	"testing"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
)

// Guest memory of the tests: a ring of 8 entries at low, then two regions that
// are adjacent for the guest and not here, then nothing.
const (
	low    = 0x1000
	high   = 0x11000 // where the second region begins
	beyond = 0x21000
	tables = 0x4000
)

type rig struct {
	m    virtiotest.Memory
	ring *virtiotest.Ring
	dev  *virtio.Split
	at   func(guest uint64) uintptr
}

func newRig(t testing.TB, size int, features uint64, write bool) *rig {
	t.Helper()
	m := virtiotest.Memory{{Guest: low, B: make([]byte, high-low)}, {Guest: high, B: make([]byte, beyond-high)}}
	r := virtiotest.NewRing(m, low, size, features&virtio.FEventIdx != 0)
	return &rig{m, r, device(t, m, r, features, write, 0), func(g uint64) uintptr { return mem.AddrOf(m.At(g, 1)) }}
}

func device(t testing.TB, m virtiotest.Memory, r *virtiotest.Ring, features uint64, write bool, base uint16) *virtio.Split {
	t.Helper()
	dev, err := virtio.NewSplit(config(t, m, r, features, write, base))
	if err != nil {
		t.Fatal(err)
	}
	return dev
}

func config(t testing.TB, m virtiotest.Memory, r *virtiotest.Ring, features uint64, write bool, base uint16) virtio.Config {
	t.Helper()
	var regions []mem.Region
	for _, x := range m {
		regions = append(regions, mem.Region{Guest: x.Guest, Size: uint64(len(x.B)), Host: mem.AddrOf(x.B)})
	}
	table, err := mem.NewMap(regions)
	if err != nil {
		t.Fatal(err)
	}
	at := func(g uint64) uintptr { return mem.AddrOf(m.At(g, 1)) }
	return virtio.Config{
		Size: r.Size, Desc: at(r.Desc), Avail: at(r.Avail), Used: at(r.Used),
		Features: features, Mem: table, Base: uint32(base), DeviceWrites: write,
	}
}

// describe says what the device made of a chain.
func (g *rig) describe(c *virtio.Chain) string {
	if c.Fault != virtio.OK {
		return [...]string{"", "bad chain", "bad address", "bad head", "bad table"}[c.Fault]
	}
	s := fmt.Sprint(c.Len)
	for _, seg := range g.dev.Segs[c.First:][:c.Count] {
		s += fmt.Sprintf(" %d@%s", seg.Len, g.name(seg.Addr))
	}
	return s
}

func (g *rig) name(addr uintptr) string {
	for i, r := range g.m {
		if off := addr - mem.AddrOf(r.B); off < uintptr(len(r.B)) {
			return fmt.Sprintf("%d:%x", i, off)
		}
	}
	return "nowhere"
}

type desc struct {
	addr        uint64
	n           uint32
	flags, next uint16
}

const (
	next     = virtiotest.Next
	write    = virtiotest.Write
	indirect = virtiotest.Indirect
)

// Chains as a guest may lay them out, legal and not (cases B32, B33, B34). Each
// list begins with descriptor 0; a table, where there is one, is at tables.
var chains = []struct {
	name  string
	descs []desc
	table []desc
	want  string // of a device that reads; the same with WRITE for one that writes
}{
	{"one", []desc{{low + 0x100, 60, 0, 0}}, nil, "60 60@0:100"},
	{"two", []desc{{low + 0x100, 12, next, 3}, {}, {}, {low + 0x200, 60, 0, 0}}, nil, "72 12@0:100 60@0:200"},
	{"empty piece", []desc{{low + 0x100, 12, next, 1}, {7, 0, next, 2}, {low + 0x200, 60, 0, 0}}, nil, "72 12@0:100 60@0:200"},
	{
		"whole ring",
		[]desc{{low, 1, next, 1}, {low, 1, next, 2}, {low, 1, next, 3}, {low, 1, next, 4}, {low, 1, next, 5}, {low, 1, next, 6}, {low, 1, next, 7}, {low, 1, 0, 0}},
		nil,
		"8 1@0:0 1@0:0 1@0:0 1@0:0 1@0:0 1@0:0 1@0:0 1@0:0",
	},
	{"last byte", []desc{{beyond - 1, 1, 0, 0}}, nil, "1 1@1:ffff"},
	{"over the border", []desc{{high - 20, 60, 0, 0}}, nil, "60 20@0:ffec 40@1:0"},

	{"nothing", []desc{{low, 0, 0, 0}}, nil, "bad chain"},
	{"itself", []desc{{low, 0, next, 0}}, nil, "bad chain"},
	{"itself, with bytes", []desc{{low, 9, next, 0}}, nil, "bad chain"},
	{"cycle", []desc{{low, 1, next, 1}, {low, 1, next, 0}}, nil, "bad chain"},
	{"next out of the ring", []desc{{low, 1, next, 8}}, nil, "bad chain"},
	{"next far out", []desc{{low, 1, next, 0xffff}}, nil, "bad chain"},
	{"wrong direction", []desc{{low, 1, write, 0}}, nil, "bad chain"},
	{"wrong direction later", []desc{{low, 1, next, 1}, {low, 1, write, 0}}, nil, "bad chain"},
	{"address 0", []desc{{0, 1, 0, 0}}, nil, "bad address"},
	{"end of the address space", []desc{{^uint64(0) - 15, 32, 0, 0}}, nil, "bad address"},
	{"one byte too far", []desc{{beyond - 8, 9, 0, 0}}, nil, "bad address"},
	{"4 GiB", []desc{{low, ^uint32(0), 0, 0}}, nil, "bad address"},

	{"table", []desc{{tables, 32, indirect, 0}}, []desc{{low, 12, next, 1}, {low + 0x100, 60, 0, 0}}, "72 12@0:0 60@0:100"},
	{"table's WRITE means nothing", []desc{{tables, 16, indirect | write, 0}}, []desc{{low, 12, 0, 0}}, "12 12@0:0"},
	{"direct, then table", []desc{{low, 12, next, 1}, {tables, 16, indirect, 0}}, []desc{{low + 0x100, 60, 0, 0}}, "72 12@0:0 60@0:100"},
	{"table at an odd address", []desc{{tables + 8, 16, indirect, 0}}, nil, "bad chain"}, // zeros there: an empty chain
	{"table in any order", []desc{{tables, 48, indirect, 0}}, []desc{{low, 1, next, 2}, {low + 0x100, 3, 0, 0}, {low + 0x200, 2, next, 1}}, "6 1@0:0 2@0:200 3@0:100"},
	{
		"whole table",
		[]desc{{tables, 128, indirect, 0}},
		[]desc{{low, 1, next, 1}, {low, 1, next, 2}, {low, 1, next, 3}, {low, 1, next, 4}, {low, 1, next, 5}, {low, 1, next, 6}, {low, 1, next, 7}, {low, 1, 0, 0}},
		"8 1@0:0 1@0:0 1@0:0 1@0:0 1@0:0 1@0:0 1@0:0 1@0:0",
	},

	{"empty table", []desc{{tables, 0, indirect, 0}}, nil, "bad chain"},
	{"half an entry", []desc{{tables, 8, indirect, 0}}, nil, "bad chain"},
	{"one byte less", []desc{{tables, 15, indirect, 0}}, []desc{{low, 1, 0, 0}}, "bad chain"},
	{"one byte more", []desc{{tables, 17, indirect, 0}}, []desc{{low, 1, 0, 0}}, "bad chain"},
	{"table larger than the ring", []desc{{tables, 16 * 9, indirect, 0}}, []desc{{low, 1, 0, 0}}, "bad chain"},
	{"huge table", []desc{{tables, 0xfffffff0, indirect, 0}}, []desc{{low, 1, 0, 0}}, "bad chain"},
	{"table outside", []desc{{beyond, 16, indirect, 0}}, nil, "bad table"},
	{"table over the border", []desc{{high - 8, 16, indirect, 0}}, nil, "bad chain"},
	{"table in a table", []desc{{tables, 16, indirect, 0}}, []desc{{tables, 16, indirect, 0}}, "bad chain"},
	{"table with NEXT", []desc{{tables, 16, indirect | next, 1}, {low, 1, 0, 0}}, []desc{{low, 1, 0, 0}}, "bad chain"},
	{"cycle in a table", []desc{{tables, 32, indirect, 0}}, []desc{{low, 1, next, 1}, {low, 1, next, 0}}, "bad chain"},
	{"next out of the table", []desc{{tables, 32, indirect, 0}}, []desc{{low, 1, next, 2}}, "bad chain"},
}

func TestChains(t *testing.T) {
	for _, c := range chains {
		for _, w := range []bool{false, true} {
			g := newRig(t, 8, virtio.FIndirectDesc, w)
			flip := uint16(0)
			if w {
				flip = write
			}
			for i, d := range c.descs {
				if d.flags&indirect == 0 {
					d.flags ^= flip
				}
				g.ring.RawDesc(i, d.addr, d.n, d.flags, d.next)
			}
			for i, d := range c.table {
				if d.flags&indirect == 0 {
					d.flags ^= flip
				}
				virtiotest.PutDesc(g.m.At(tables+uint64(16*i), 16), d.addr, d.n, d.flags, d.next)
			}
			// The chain in question, then a good one: the ring goes on (B38).
			g.ring.Post(0)
			g.ring.Publish()
			if n := g.dev.Gather(32); n != 1 {
				t.Fatalf("%s: %d chains", c.name, n)
			}
			if got := g.describe(&g.dev.Chains[0]); got != c.want {
				t.Errorf("%s (device writes: %v): got %s, want %s", c.name, w, got, c.want)
			}
			g.dev.Use(1)
			g.ring.RawDesc(0, low, 77, flip, 0)
			g.ring.Post(0)
			g.ring.Publish()
			if g.dev.Gather(32) != 1 || g.describe(&g.dev.Chains[0]) != "77 77@0:0" {
				t.Errorf("%s: the ring does not go on", c.name)
			}
		}
	}
}

// Without INDIRECT_DESC a table is not followed.
func TestIndirectOnlyWhenNegotiated(t *testing.T) {
	g := newRig(t, 8, 0, false)
	g.ring.RawDesc(0, tables, 16, indirect, 0)
	virtiotest.PutDesc(g.m.At(tables, 16), low, 1, 0, 0)
	g.ring.Post(0)
	g.ring.Publish()
	g.dev.Gather(1)
	if got := g.describe(&g.dev.Chains[0]); got != "bad chain" {
		t.Errorf("got %s", got)
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
	g := newRig(t, 8, 0, false)
	const start = 65530
	g.ring.Reset(start)
	g.dev = device(t, g.m, g.ring, 0, false, start)
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
				t.Fatalf("chain %d has length %d", seen, c.Len)
			}
			seen++
		}
		g.dev.Use(take)
		for {
			if _, _, ok := g.ring.Take(); !ok {
				break
			}
		}
		if int(g.dev.Base()) != (start+seen)&0xffff {
			t.Fatalf("base %d after %d", g.dev.Base(), seen)
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
	g := newRig(t, 8, 0, false)
	for _, on := range []bool{true, false, true} {
		g.ring.Interrupts(on)
		g.ring.Post(0)
		g.ring.Publish()
		g.dev.Use(g.dev.Gather(1))
		if g.dev.NeedNotify() != on {
			t.Errorf("interrupts %v: notify %v", on, !on)
		}
	}
}

// The device asks for kicks only while it is armed, and never sleeps on a chain.
func TestArm(t *testing.T) {
	for _, features := range []uint64{0, virtio.FEventIdx} {
		g := newRig(t, 8, features, false)
		add := func() {
			if _, ok := g.ring.Add(virtiotest.Elem{Addr: low, Len: 60}); !ok {
				t.Fatal("ring full")
			}
			g.ring.Publish()
		}
		add()
		if features == 0 && g.ring.NeedKick() {
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
	g := newRig(t, 256, virtio.FIndirectDesc|virtio.FEventIdx, false)
	for i := range 256 {
		g.ring.RawDesc(i, low, 60, 0, 0)
	}
	idx := uint16(0)
	if n := testing.AllocsPerRun(1000, func() {
		for range 32 {
			g.ring.RawAvail(int(idx)&255, idx&255)
			idx++
		}
		g.ring.RawAvailIdx(idx)
		g.dev.Use(g.dev.Gather(32))
		g.dev.NeedNotify()
		g.dev.Arm()
		g.dev.Disarm()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// What a fault interrupts before Use has not happened: the driver sees each chain once.
func TestInterrupted(t *testing.T) {
	g := newRig(t, 8, 0, true)
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
			t.Errorf("used entry %d: %d bytes, %v", i, l, ok)
		}
	}
	if _, _, ok := g.ring.Take(); ok {
		t.Error("more used entries than chains")
	}
}
