package virtio_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
)

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
	// in a packed ring, if that differs: there descriptors and entries follow each other, so this is
	// another chain, or none that says anything ("-")
	packed string
}{
	{"one", []desc{{low + 0x100, 60, 0, 0}}, nil, "60 60@0:100", ""},
	{"two", []desc{{low + 0x100, 12, next, 3}, {}, {}, {low + 0x200, 60, 0, 0}}, nil, "72 12@0:100 60@0:200", ""},
	{"empty piece", []desc{{low + 0x100, 12, next, 1}, {7, 0, next, 2}, {low + 0x200, 60, 0, 0}}, nil, "72 12@0:100 60@0:200", ""},
	{
		"whole ring",
		[]desc{{low, 1, next, 1}, {low, 1, next, 2}, {low, 1, next, 3}, {low, 1, next, 4}, {low, 1, next, 5}, {low, 1, next, 6}, {low, 1, next, 7}, {low, 1, 0, 0}},
		nil,
		"8 1@0:0 1@0:0 1@0:0 1@0:0 1@0:0 1@0:0 1@0:0 1@0:0", "",
	},
	{"last byte", []desc{{beyond - 1, 1, 0, 0}}, nil, "1 1@1:ffff", ""},
	{"over the border", []desc{{high - 20, 60, 0, 0}}, nil, "60 20@0:ffec 40@1:0", ""},

	{"nothing", []desc{{low, 0, 0, 0}}, nil, "bad chain", ""},
	{"itself", []desc{{low, 0, next, 0}}, nil, "bad chain", ""},
	{"itself, with bytes", []desc{{low, 9, next, 0}}, nil, "bad chain", ""},
	{"cycle", []desc{{low, 1, next, 1}, {low, 1, next, 0}}, nil, "bad chain", ""},
	{"next out of the ring", []desc{{low, 1, next, 8}}, nil, "bad chain", ""},
	{"next far out", []desc{{low, 1, next, 0xffff}}, nil, "bad chain", ""},
	{"wrong direction", []desc{{low, 1, write, 0}}, nil, "bad chain", ""},
	{"wrong direction later", []desc{{low, 1, next, 1}, {low, 1, write, 0}}, nil, "bad chain", ""},
	{"address 0", []desc{{0, 1, 0, 0}}, nil, "bad address", ""},
	{"end of the address space", []desc{{^uint64(0) - 15, 32, 0, 0}}, nil, "bad address", ""},
	{"one byte too far", []desc{{beyond - 8, 9, 0, 0}}, nil, "bad address", ""},
	{"4 GiB", []desc{{low, ^uint32(0), 0, 0}}, nil, "bad address", ""},

	{"table", []desc{{tables, 32, indirect, 0}}, []desc{{low, 12, next, 1}, {low + 0x100, 60, 0, 0}}, "72 12@0:0 60@0:100", ""},
	{"table's WRITE means nothing", []desc{{tables, 16, indirect | write, 0}}, []desc{{low, 12, 0, 0}}, "12 12@0:0", ""},
	{"direct, then table", []desc{{low, 12, next, 1}, {tables, 16, indirect, 0}}, []desc{{low + 0x100, 60, 0, 0}}, "72 12@0:0 60@0:100", "bad chain"},
	{"table at an odd address", []desc{{tables + 8, 16, indirect, 0}}, nil, "bad chain", ""}, // zeros there: an empty chain
	{"table in any order", []desc{{tables, 48, indirect, 0}}, []desc{{low, 1, next, 2}, {low + 0x100, 3, 0, 0}, {low + 0x200, 2, next, 1}}, "6 1@0:0 2@0:200 3@0:100", ""},
	{
		"whole table",
		[]desc{{tables, 128, indirect, 0}},
		[]desc{{low, 1, next, 1}, {low, 1, next, 2}, {low, 1, next, 3}, {low, 1, next, 4}, {low, 1, next, 5}, {low, 1, next, 6}, {low, 1, next, 7}, {low, 1, 0, 0}},
		"8 1@0:0 1@0:0 1@0:0 1@0:0 1@0:0 1@0:0 1@0:0 1@0:0", "",
	},

	{"empty table", []desc{{tables, 0, indirect, 0}}, nil, "bad chain", ""},
	{"half an entry", []desc{{tables, 8, indirect, 0}}, nil, "bad chain", ""},
	{"one byte less", []desc{{tables, 15, indirect, 0}}, []desc{{low, 1, 0, 0}}, "bad chain", ""},
	{"one byte more", []desc{{tables, 17, indirect, 0}}, []desc{{low, 1, 0, 0}}, "bad chain", ""},
	{"table larger than the ring", []desc{{tables, 16 * 9, indirect, 0}}, []desc{{low, 1, 0, 0}}, "bad chain", ""},
	{"huge table", []desc{{tables, 0xfffffff0, indirect, 0}}, []desc{{low, 1, 0, 0}}, "bad chain", ""},
	{"table outside", []desc{{beyond, 16, indirect, 0}}, nil, "bad table", ""},
	{"table over the border", []desc{{high - 8, 16, indirect, 0}}, nil, "bad chain", ""},
	{"table in a table", []desc{{tables, 16, indirect, 0}}, []desc{{tables, 16, indirect, 0}}, "bad chain", ""},
	{"table with NEXT", []desc{{tables, 16, indirect | next, 1}, {low, 1, 0, 0}}, []desc{{low, 1, 0, 0}}, "bad chain", ""},
	{"cycle in a table", []desc{{tables, 32, indirect, 0}}, []desc{{low, 1, next, 1}, {low, 1, next, 0}}, "bad chain", "-"},
	{"next out of the table", []desc{{tables, 32, indirect, 0}}, []desc{{low, 1, next, 2}}, "bad chain", "-"},
}

// reached is the descriptors of a list in the order in which a chain that begins with the first
// one reaches them, and whether it ends.
func reached(list []desc) (order []desc, ends bool) {
	seen := map[uint16]bool{}
	for i := uint16(0); int(i) < len(list) && !seen[i]; i = list[i].next {
		seen[i] = true
		order = append(order, list[i])
		if list[i].flags&next == 0 {
			return order, true
		}
	}
	return order, false
}

// lay puts a chain into the ring, with its table, and publishes it; WRITE is toggled in flags that
// it means something in. It returns how many descriptors the chain takes.
func (g *rig) lay(list, table []desc, toggle uint16) int {
	flip := func(list []desc) []desc {
		list = slices.Clone(list)
		for i := range list {
			if list[i].flags&indirect == 0 {
				list[i].flags ^= toggle
			}
		}
		return list
	}
	list, table = flip(list), flip(table)
	if g.ring.Packed() {
		table, _ = reached(table)
		for i, d := range table {
			virtiotest.PutDesc(g.m.At(tables+uint64(16*i), 16), d.addr, d.n, 0, d.flags)
		}
		chain, ends := reached(list)
		for !ends && len(chain) < g.ring.Size {
			chain = append(chain, desc{low, 1, next | toggle, 0})
		}
		at, wrap := g.ring.Position()
		for i, d := range chain {
			k, w := at+i, wrap
			if k >= g.ring.Size {
				k, w = k-g.ring.Size, !w
			}
			g.ring.RawPacked(k, d.addr, d.n, 42, d.flags|virtiotest.AvailFlags(w))
		}
		g.ring.Advance(len(chain))
		return len(chain)
	}
	for i, d := range table {
		virtiotest.PutDesc(g.m.At(tables+uint64(16*i), 16), d.addr, d.n, d.flags, d.next)
	}
	for i, d := range list {
		g.ring.RawDesc(i, d.addr, d.n, d.flags, d.next)
	}
	g.ring.Post(0)
	g.ring.Publish()
	return 1
}

// starts are where rings begin: everywhere in a packed one of that size, in each round.
func starts(r *virtiotest.Ring) []uint16 {
	if !r.Packed() {
		return []uint16{0, 65535}
	}
	var all []uint16
	for i := range uint16(r.Size) {
		all = append(all, i, i|1<<15)
	}
	return all
}

func TestChains(t *testing.T) {
	for _, kind := range kinds {
		for _, c := range chains {
			want := c.want
			if kind&virtio.FRingPacked != 0 && c.packed != "" {
				want = c.packed
			}
			if want == "-" {
				continue
			}
			for _, w := range []bool{false, true} {
				g := newRig(t, 8, virtio.FIndirectDesc|kind, w)
				toggle := uint16(0)
				if w {
					toggle = write
				}
				for _, start := range starts(g.ring) {
					name := fmt.Sprintf("%s, features %#x, from %#x (device writes: %v)", c.name, kind, start, w)
					g.reset(t, virtio.FIndirectDesc|kind, w, start)
					clear(g.m.At(tables, 256))
					// The chain in question, then a good one: the ring goes on (B38).
					slots := g.lay(c.descs, c.table, toggle)
					if n := g.dev.Gather(32); n != 1 {
						t.Fatalf("%s: %d chains", name, n)
					}
					if got := g.describe(&g.dev.Chains[0]); got != want {
						t.Errorf("%s: got %s, want %s", name, got, want)
					}
					g.dev.Use(1)
					id, n, ok := g.ring.TakeRaw(slots)
					if wantID := uint16(42); !ok || n != 0 || g.ring.Packed() && id != wantID || !g.ring.Packed() && id != 0 {
						t.Errorf("%s: returned %v as %d with %d bytes", name, ok, id, n)
					}
					g.lay([]desc{{low, 77, 0, 0}}, nil, toggle)
					if g.dev.Gather(32) != 1 || g.describe(&g.dev.Chains[0]) != "77 77@0:0" {
						t.Errorf("%s: the ring does not go on", name)
					}
				}
			}
		}
	}
}
