package vhostuser

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// account is a driver with a ring of either kind, whose chains have one or two descriptors, the
// first numbered like the chain, and a table of what is in flight.
type account struct {
	t        *testing.T
	packed   bool
	size     int
	ring     []byte
	table    []byte
	c        virtio.Config
	inOrder  bool
	order    []int       // chains that are out, as they were made available
	free     []int       // numbers of chains that may be made available
	out      map[int]int // descriptors of those that are
	avail    uint16      // split: index; packed: position of the next descriptor
	wrap     uint16
	seen     uint16 // split: used index seen; packed: position
	seenWrap uint16
	dev      virtio.Ring
}

const accountSize = 16

func newAccount(t *testing.T, features uint64) *account {
	a := &account{
		t: t, packed: features&virtio.FRingPacked != 0, inOrder: features&virtio.FInOrder != 0, size: accountSize, ring: make([]byte, 4096), table: make([]byte, 1024),
		out: map[int]int{}, wrap: 1, seenWrap: 1,
	}
	base := mem.AddrOf(a.ring)
	a.c = virtio.Config{Size: accountSize, Desc: base, Avail: base + 512, Used: base + 1024, Features: features}
	var err error
	if a.c.Mem, err = mem.NewMap([]mem.Region{{Guest: 0, Size: 4096, Host: base}}); err != nil {
		t.Fatal(err)
	}
	for i := range accountSize / 2 {
		a.free = append(a.free, i)
	}
	return a
}

// attach makes the device's side anew, told to begin where it certainly is not.
func (a *account) attach(old bool) {
	c, at := a.c, mem.AddrOf(a.table)
	if old {
		c.Base = uint32(rand.IntN(accountSize))
	} else if a.packed {
		c.Base = 1<<15 | 1<<31
	}
	make := newTrackedSplit
	if a.packed {
		make = newTrackedPacked
	}
	var err error
	if a.dev, err = make(&c, at, accountSize, old); err != nil {
		a.t.Fatal(err)
	}
}

// post makes a chain available, if there is a free one.
func (a *account) post() {
	if len(a.free) == 0 {
		return
	}
	i := a.free[0]
	a.free = a.free[1:]
	k := 1 + rand.IntN(2)
	a.out[i] = k
	a.order = append(a.order, i)
	d := a.c.Desc
	if !a.packed {
		for j := range k {
			at := d + 16*uintptr(2*i+j)
			mem.Store64(at, 2048)
			mem.Store32(at+8, 8)
			mem.Store16(at+12, uint16(k-1-j)) // NEXT but for the last
			mem.Store16(at+14, uint16(2*i+j+1))
		}
		mem.Store16(a.c.Avail+4+2*uintptr(a.avail%accountSize), uint16(2*i))
		a.avail++
		mem.Store16(a.c.Avail+2, a.avail)
		return
	}
	first, word := uintptr(0), uint16(0)
	for j := range k {
		at := d + 16*uintptr(a.avail)
		mem.Store64(at, 2048)
		mem.Store32(at+8, 8)
		mem.Store16(at+12, uint16(2*i))
		flags := uint16(k-1-j) | a.wrap<<7 | (1-a.wrap)<<15
		if j == 0 {
			first, word = at+14, flags
		} else {
			mem.Store16(at+14, flags)
		}
		if a.avail++; a.avail == accountSize {
			a.avail, a.wrap = 0, 1-a.wrap
		}
	}
	mem.Store16(first, word)
}

// collect takes back what the device has used. Nothing may come that is not out.
func (a *account) collect() {
	take := func(id int) {
		k, ok := a.out[id/2]
		if !ok {
			a.t.Fatalf("chain %d came back and was not out", id/2)
		}
		delete(a.out, id/2)
		a.order = slices.DeleteFunc(a.order, func(i int) bool { return i == id/2 })
		a.free = append(a.free, id/2)
		if a.packed {
			for range k {
				if a.seen++; a.seen == accountSize {
					a.seen, a.seenWrap = 0, 1-a.seenWrap
				}
			}
		}
	}
	if !a.packed {
		for ; a.seen != mem.Load16(a.c.Used+2); a.seen++ {
			id := int(mem.Load32(a.c.Used + 4 + 8*uintptr(a.seen%accountSize)))
			if a.inOrder { // only the last of a batch has an entry
				id = 2 * a.order[0]
			}
			take(id)
		}
		return
	}
	for len(a.out) > 0 {
		at := a.c.Desc + 16*uintptr(a.seen)
		if f := mem.Load16(at + 14); f>>7&1 != a.seenWrap || f>>15&1 != a.seenWrap {
			return
		}
		last := int(mem.Load16(at + 12))
		for a.inOrder && a.order[0] != last/2 { // one for a batch
			take(2 * a.order[0])
		}
		take(last)
	}
}

// dying is a ring whose device crashes before or after chains are shown to the driver.
type dying struct {
	virtio.Ring
	after bool
}

func (d *dying) Use(n int) {
	if d.after {
		d.Ring.Use(n)
	}
	panic("crash")
}

// crash ends the device in the middle of Use.
func (a *account) crash(n int, after bool) {
	defer func() { _ = recover() }()
	switch r := a.dev.(type) {
	case *trackedSplit:
		r.Ring = &dying{r.Ring, after}
	case *trackedPacked:
		r.Ring = &dying{r.Ring, after}
	}
	a.dev.Use(n)
	a.t.Fatal("it lives")
}

// inTable is how many chains the table says are in flight.
func (a *account) inTable() int {
	at, n := mem.AddrOf(a.table), 0
	for i := range accountSize {
		e := splitTable{at, accountSize}.entry(i)
		if a.packed {
			e = (&packedTable{at: at}).entry(i)
		}
		n += int(mem.Load16(e) & 0xff)
	}
	return n
}

// Whenever the device crashes, each chain comes back once, and once only, and none is forgotten.
func TestInflightCrashes(t *testing.T) {
	for name, features := range map[string]uint64{
		"split":           virtio.FVersion1,
		"split in order":  virtio.FVersion1 | virtio.FInOrder,
		"packed":          virtio.FVersion1 | virtio.FRingPacked,
		"packed in order": virtio.FVersion1 | virtio.FRingPacked | virtio.FInOrder,
	} {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t, features)
			a.attach(false)
			crashes := 0
			for range many(20_000, 1_000_000) {
				for range rand.IntN(4) {
					a.post()
				}
				n := a.dev.Gather(rand.IntN(6))
				if got := a.inTable(); got != n {
					t.Fatalf("%d chains are taken, the table says %d", n, got)
				}
				use := n
				if n > 0 {
					use = rand.IntN(n + 1)
				}
				switch rand.IntN(12) {
				case 0: // before anything is used
				case 1:
					a.crash(use, false)
				case 2:
					a.crash(use, true)
				default:
					a.dev.Use(use)
					if got := a.inTable(); got != 0 {
						t.Fatalf("nothing is taken, the table says %d", got)
					}
					a.collect()
					continue
				}
				a.attach(true)
				crashes++
				a.collect()
			}
			a.dev.Use(a.dev.Gather(accountSize))
			a.collect()
			if len(a.out) != 0 {
				t.Errorf("after %d crashes chains %v have not come back", crashes, a.out)
			}
		})
	}
}

// A table of a device that gave back in another order than it took: what it had is given back.
func TestInflightOfAnother(t *testing.T) {
	for _, packed := range []bool{false, true} {
		t.Run(fmt.Sprintf("packed=%v", packed), func(t *testing.T) {
			features := virtio.FVersion1
			if packed {
				features |= virtio.FRingPacked
			}
			a := newAccount(t, features)
			a.attach(false)
			for range 5 {
				a.post()
			}
			if n := a.dev.Gather(4); n != 4 {
				t.Fatal(n)
			}
			// It has given the second and third back, the first and fourth not.
			b := a.dev.Held()
			c := b.Chains
			b.Chains[0], b.Chains[1] = c[1], c[2]
			r, _ := a.dev.(*trackedPacked)
			if packed {
				r.Ring.Use(2)
				for i := 1; i < 3; i++ {
					mem.Store16(r.entry(int(r.chains[i].first)), 0)
					r.used = r.step(r.used, int(c[i].Slots))
				}
				r.position()
				r.settle()
			} else {
				s := a.dev.(*trackedSplit)
				s.Ring.Use(2)
				mem.Store16(s.entry(int(c[1].Head)), 0)
				mem.Store16(s.entry(int(c[2].Head)), 0)
				mem.Store16(s.at+splitUsedIdx, 2)
			}
			a.collect()
			if len(a.out) != 3 {
				t.Fatalf("out: %v", a.out)
			}
			a.attach(true)
			a.collect()
			if len(a.out) != 1 {
				t.Errorf("out after the crash: %v", a.out)
			}
			a.dev.Use(a.dev.Gather(accountSize))
			a.collect()
			for range 100 {
				a.post()
				a.dev.Use(a.dev.Gather(accountSize))
				a.collect()
			}
			if len(a.out) != 0 {
				t.Errorf("out at the end: %v", a.out)
			}
		})
	}
}

// Whatever a table says, only ring and table are read and written, and the ring has an answer.
func FuzzInflight(f *testing.F) {
	f.Add([]byte{}, false)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 16, 0, 255, 255, 9, 0, 1}, false)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 16, 0, 255, 255, 9, 0, 1, 7, 255, 255, 255, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, true)
	f.Fuzz(func(t *testing.T, table []byte, packed bool) {
		features := virtio.FVersion1
		if packed {
			features |= virtio.FRingPacked
		}
		a := newAccount(t, features)
		for range 3 {
			a.post()
		}
		copy(a.table, table)
		if packed {
			mem.Store16(a.c.Desc+16*15+14, usedBit) // it was used before
		}
		a.attach(true)
		for range 3 {
			a.dev.Use(a.dev.Gather(accountSize))
		}
		for i := vhostuser.PackedInflightHeader + vhostuser.PackedInflightEntry*accountSize; i < len(a.table); i++ {
			if i >= len(table) && a.table[i] != 0 {
				t.Fatalf("byte %d behind the table was written", i)
			}
		}
	})
}
