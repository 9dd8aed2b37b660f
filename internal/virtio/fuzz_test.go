package virtio_test

import (
	"math/rand/v2"
	"testing"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
)

// checkGathered holds what the device says against the rules, whatever the guest
// wrote: every segment lies in guest memory, sums are right, work is bounded.
func checkGathered(t *testing.T, g *rig, n int) {
	t.Helper()
	for i := range n {
		c := &g.dev.Chains[i]
		if c.Fault != virtio.OK {
			if c.Count != 0 || c.Len != 0 {
				t.Fatalf("faulty chain with %d segments, %d bytes", c.Count, c.Len)
			}
			continue
		}
		if c.Count == 0 || int(c.Count) > 4*g.ring.Size || !g.ring.Packed() && int(c.Head) >= g.ring.Size {
			t.Fatalf("chain of %d segments, head %d", c.Count, c.Head)
		}
		sum := uint32(0)
		for _, s := range g.dev.Segs[c.First:][:c.Count] {
			sum += s.Len
			ok := false
			for _, r := range g.m {
				off := s.Addr - mem.AddrOf(r.B)
				ok = ok || off < uintptr(len(r.B)) && uintptr(s.Len) <= uintptr(len(r.B))-off
			}
			if !ok || s.Len == 0 {
				t.Fatalf("segment of %d bytes at %s", s.Len, g.name(s.Addr))
			}
		}
		if sum != c.Len {
			t.Fatalf("chain of %d bytes says %d", sum, c.Len)
		}
	}
}

// run lets the device work on a ring full of the given bytes.
func run(t *testing.T, g *rig, ring []byte) {
	b := g.m.At(low, 0x8000)
	copy(b, ring)
	for range 3 {
		n := g.dev.Gather(32)
		checkGathered(t, g, n)
		g.dev.Use(n)
	}
}

func FuzzSplit(f *testing.F) { fuzz(f, virtio.FIndirectDesc|virtio.FEventIdx) }

func FuzzPacked(f *testing.F) { fuzz(f, virtio.FIndirectDesc|virtio.FEventIdx|virtio.FRingPacked) }

func fuzz(f *testing.F, features uint64) {
	f.Add([]byte{0, 0x10, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0}, false, false)
	f.Add([]byte{0, 0x10, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 5, 0, 0x81, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 5, 0, 0x80, 0}, false, true)
	f.Add(make([]byte, 256), true, true)
	f.Fuzz(func(t *testing.T, ring []byte, write, inOrder bool) {
		if inOrder {
			features |= virtio.FInOrder
		} else {
			features &^= virtio.FInOrder
		}
		run(t, newRig(t, 8, features, write), ring)
	})
}

// Random rings whose words are of the kind that hurts: flags, small indices, and
// addresses at the borders.
func TestRandomRings(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	addrs := []uint64{low, high - 8, high, beyond - 8, beyond, 0, ^uint64(0) - 8, tables}
	lens := []uint32{0, 1, 12, 16, 32, 60, 128, 1 << 16, ^uint32(0)}
	pick := func(n int) int { return rng.IntN(n) }
	for i := range 20000 {
		g := newRig(t, 8, virtio.FIndirectDesc|kinds[i%len(kinds)], pick(2) == 1)
		for i := range 8 {
			addr, n := addrs[pick(len(addrs))]+uint64(pick(3)), lens[pick(len(lens))]
			if g.ring.Packed() {
				g.ring.RawPacked(i, addr, n, uint16(pick(10)), uint16(pick(8))|virtiotest.AvailFlags(pick(8) > 0))
				continue
			}
			g.ring.RawDesc(i, addr, n, uint16(pick(8)), uint16(pick(10)))
			g.ring.RawAvail(i, uint16(pick(9)))
		}
		for i := range 8 {
			copy(g.m.At(tables+uint64(16*i), 16), g.m.At(low+uint64(16*pick(8)), 16))
		}
		if !g.ring.Packed() {
			g.ring.RawAvailIdx(uint16(pick(12)))
		}
		run(t, g, nil)
	}
}
