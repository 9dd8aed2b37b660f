package vhostuser

import (
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// Where things are in a split ring's part of the table: 8 bytes of features (none), and then words
// of 16 bits; the entry of each head has a byte that says that it is in flight.
const (
	splitEntries   = 10
	splitLastBatch = 12 // the chain that was given back last, the first of a list
	splitUsedIdx   = 14
	splitNext      = 6 // of an entry: the chain that was given back before
	splitCounter   = 8 // of an entry: of all chains that were taken
)

// splitTable is a split ring's part of the table. It is the front end's as well: what is read of it is
// checked.
type splitTable struct {
	at      uintptr
	entries int
}

func (t splitTable) entry(head int) uintptr {
	return t.at + vhostuser.SplitInflightHeader + vhostuser.SplitInflightEntry*uintptr(head)
}

// trackedSplit keeps account of a split ring. In each of its steps the table and the
// ring may be left by a crash, and the next can tell what was done.
type trackedSplit struct {
	virtio.Ring
	splitTable
	held    *virtio.Batch
	used    uintptr // the used ring
	size    int
	counter uint64
	n       int // chains in the table
}

func newTrackedSplit(c *virtio.Config, at uintptr, entries int, old bool) (virtio.Ring, error) {
	t := splitTable{at, entries}
	if old {
		c.Base = uint32(t.recover(c))
	} else {
		mem.Store16(at+splitEntries, uint16(entries))
		mem.Store16(at+splitLastBatch, 0)
		for i := range entries {
			mem.Store16(t.entry(i), 0)
		}
		mem.Store16(at+splitUsedIdx, mem.Load16(c.Used+2))
		mem.Store16(at+versionField, inflightVersion)
	}
	r, err := virtio.New(*c)
	if err != nil {
		return nil, err
	}
	return &trackedSplit{Ring: r, splitTable: t, held: r.Held(), used: c.Used, size: c.Size}, nil
}

// recover reads what is in flight, says where the ring is to go on, and clears the table.
func (t splitTable) recover(c *virtio.Config) uint16 {
	mask := uint16(c.Size - 1)
	idx := mem.Load16(c.Used + 2)
	// A batch that the driver was shown may not be taken from the table yet.
	head := mem.Load16(t.at + splitLastBatch)
	for range min(int(idx-mem.Load16(t.at+splitUsedIdx)), c.Size) {
		if int(head) >= t.entries {
			break
		}
		mem.Store16(t.entry(int(head)), 0)
		head = mem.Load16(t.entry(int(head)) + splitNext)
	}
	list := inFlight(t.entry, c.Size)
	inOrder := true
	for i, x := range list {
		inOrder = inOrder && mem.Load16(c.Avail+4+2*uintptr((idx+uint16(i))&mask)) == uint16(x.entry)
	}
	if !inOrder {
		for _, x := range list {
			mem.Store64(c.Used+4+8*uintptr(idx&mask), uint64(x.entry))
			idx++
		}
		mem.Store16Release(c.Used+2, idx)
	}
	// Backwards: if this is interrupted, the rest is in order as well.
	for i := len(list) - 1; i >= 0; i-- {
		mem.Store16(t.entry(list[i].entry), 0)
	}
	mem.Store16(t.at+splitUsedIdx, idx)
	return idx
}

// Gather implements virtio.Ring.
func (r *trackedSplit) Gather(want int) int {
	n := r.Ring.Gather(want)
	for i := r.n; i < n; i++ {
		if c := &r.held.Chains[i]; int(c.Head) < r.size {
			e := r.entry(int(c.Head))
			mem.Store64(e+splitCounter, r.counter)
			mem.Store16(e, 1)
			r.counter++
		}
	}
	r.n = n
	return n
}

// Use implements virtio.Ring.
func (r *trackedSplit) Use(n int) {
	for i := range r.held.Chains[:n] {
		if c := &r.held.Chains[i]; int(c.Head) < r.size {
			mem.Store16(r.entry(int(c.Head))+splitNext, mem.Load16(r.at+splitLastBatch))
			mem.Store16(r.at+splitLastBatch, c.Head)
		}
	}
	r.Ring.Use(n)
	for i := range r.held.Chains[:r.n] { // and those that were put back
		if c := &r.held.Chains[i]; int(c.Head) < r.size {
			mem.Store16(r.entry(int(c.Head)), 0)
		}
	}
	mem.Store16(r.at+splitUsedIdx, mem.Load16(r.used+2))
	r.n = 0
}
