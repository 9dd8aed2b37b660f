package virtio_test

import (
	"math/rand/v2"
	"testing"

	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
)

// Chains of a control queue: first what is to be read, then what is to be written.
func TestMixed(t *testing.T) {
	read := func(n uint32) virtiotest.Elem { return virtiotest.Elem{Addr: 0x6000, Len: n} }
	write := func(n uint32) virtiotest.Elem { return virtiotest.Elem{Addr: 0x7000, Len: n, Write: true} }
	for _, c := range []struct {
		name  string
		chain []virtiotest.Elem
		reads uint16
		fault virtio.Fault
	}{
		{"header, data, status", []virtiotest.Elem{read(2), read(8), write(1)}, 2, virtio.OK},
		{"one to read, one to write", []virtiotest.Elem{read(3), write(1)}, 1, virtio.OK},
		{"status in two pieces", []virtiotest.Elem{read(3), write(1), write(1)}, 1, virtio.OK},
		{"nothing to write", []virtiotest.Elem{read(3)}, 1, virtio.OK},
		{"nothing to read", []virtiotest.Elem{write(3)}, 0, virtio.OK},
		{"read again", []virtiotest.Elem{read(3), write(1), read(1)}, 0, virtio.BadChain},
		{"outside", []virtiotest.Elem{{Addr: beyond, Len: 3}, write(1)}, 0, virtio.BadAddress},
	} {
		for i := range 2 * len(kinds) {
			indirect, features := i%2 == 1, virtio.FIndirectDesc|kinds[i/2]
			g := newRig(t, 8, features, false)
			g.dev = mixed(t, g, features)
			for range 3 { // a later chain shows nothing of an earlier one
				if indirect {
					g.ring.AddIndirect(tables, c.chain)
				} else {
					g.ring.Add(c.chain...)
				}
				g.ring.Publish()
				if n := g.dev.Gather(1); n != 1 {
					t.Fatalf("%s: %d chains", c.name, n)
				}
				got := &g.dev.Chains[0]
				if got.Fault != c.fault || got.Fault == virtio.OK && (got.Reads != c.reads || int(got.Count) != len(c.chain)) {
					t.Errorf("%s, features %#x, indirect %v: fault %d, %d of %d segments to read, want fault %d, %d of %d",
						c.name, features, indirect, got.Fault, got.Reads, got.Count, c.fault, c.reads, len(c.chain))
				}
				got.Written = 1
				g.dev.Use(1)
				if _, n, ok := g.ring.Take(); !ok || n != 1 {
					t.Errorf("%s: used with %d bytes, %v", c.name, n, ok)
				}
			}
		}
	}
}

// Whatever is in the ring: what is to be read comes first, and is no more than there is.
func TestRandomMixed(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	addrs := []uint64{low, high - 8, high, beyond - 8, beyond, tables}
	lens := []uint32{0, 1, 12, 16, 32, 1 << 16, ^uint32(0)}
	pick := func(n int) int { return rng.IntN(n) }
	good := 0
	for range 20000 {
		g := newRig(t, 8, virtio.FIndirectDesc, false)
		g.dev = mixed(t, g, virtio.FIndirectDesc)
		for i := range 8 {
			g.ring.RawDesc(i, addrs[pick(len(addrs))]+uint64(pick(3)), lens[pick(len(lens))], uint16(pick(8)), uint16(pick(10)))
			g.ring.RawAvail(i, uint16(pick(9)))
		}
		g.ring.RawAvailIdx(uint16(pick(12)))
		n := g.dev.Gather(32)
		checkGathered(t, g, n)
		for i := range n {
			c := &g.dev.Chains[i]
			if c.Fault != virtio.OK {
				continue
			}
			if c.Reads > c.Count {
				t.Fatalf("%d of %d segments to read", c.Reads, c.Count)
			}
			if c.Reads > 0 && c.Reads < c.Count {
				good++
			}
		}
		g.dev.Use(n)
	}
	if good == 0 {
		t.Error("no chain with both")
	}
}

// mixed makes another device of the rig's ring.
func mixed(t testing.TB, g *rig, features uint64) tested {
	t.Helper()
	c := config(t, g.m, g.ring, features, false, g.ring.Start())
	c.Mixed = true
	return newDevice(t, c)
}
