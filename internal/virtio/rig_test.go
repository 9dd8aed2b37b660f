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
	dev  tested
	at   func(guest uint64) uintptr
}

// tested is a device side of whatever kind.
type tested struct {
	virtio.Ring
	*virtio.Batch
}

// kinds are the features that make another kind of ring each.
var kinds = []uint64{0, virtio.FInOrder, virtio.FRingPacked, virtio.FRingPacked | virtio.FInOrder}

func newRig(t testing.TB, size int, features uint64, write bool) *rig {
	t.Helper()
	m := virtiotest.Memory{{Guest: low, B: make([]byte, high-low)}, {Guest: high, B: make([]byte, beyond-high)}}
	r := virtiotest.New(m, low, size, features)
	at := func(g uint64) uintptr { return mem.AddrOf(m.At(g, 1)) }
	return &rig{m, r, device(t, m, r, features, write, r.Start()), at}
}

// reset starts both sides anew at a position.
func (g *rig) reset(t testing.TB, features uint64, write bool, position uint16) {
	g.ring.Reset(position)
	g.dev = device(t, g.m, g.ring, features, write, position)
}

func config(t testing.TB, m virtiotest.Memory, r *virtiotest.Ring, features uint64, write bool, position uint16) virtio.Config {
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
		Features: features, Mem: table, Base: r.Base(position), DeviceWrites: write,
	}
}

func device(t testing.TB, m virtiotest.Memory, r *virtiotest.Ring, features uint64, write bool, position uint16) tested {
	t.Helper()
	return newDevice(t, config(t, m, r, features, write, position))
}

func newDevice(t testing.TB, c virtio.Config) tested {
	t.Helper()
	dev, err := virtio.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if dev.Base() != c.Base {
		t.Fatalf("base %#x, want %#x", dev.Base(), c.Base)
	}
	return tested{dev, dev.Held()}
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
