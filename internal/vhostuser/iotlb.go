package vhostuser

import (
	"slices"

	"github.com/gvswitch/gvswitch/internal/mem"
)

// MaxIOTLB is the most pieces that an IOTLB holds.
const MaxIOTLB = 2048

// IOTLB is what a front end has translated and not taken back: disjoint pieces, of which
// neighbours that belong together are one. When it is full, the oldest goes; whoever misses it
// asks anew. The zero IOTLB is empty.
type IOTLB struct {
	pieces []piece // in order of address
	clock  uint64  // counts updates
}

type piece struct {
	iova, size uint64
	host       uintptr
	perm       Perm
	age        uint64 // of the latest update in it
}

func (p *piece) last() uint64 { return p.iova + p.size - 1 }

// before tells whether next continues p.
func (p *piece) before(next *piece) bool {
	return p.perm == next.perm && p.last()+1 == next.iova && next.iova != 0 && p.host+uintptr(p.size) == next.host
}

// Len is how many pieces there are.
func (t *IOTLB) Len() int { return len(t.pieces) }

// Clear empties it.
func (t *IOTLB) Clear() { t.pieces = nil }

// Update says where the size bytes at iova are and what may be done with them, whatever was
// there. The range is not empty and does not wrap.
func (t *IOTLB) Update(iova, size uint64, host uintptr, perm Perm) {
	t.Invalidate(iova, size)
	if perm == 0 {
		return
	}
	t.clock++
	n := piece{iova, size, host, perm, t.clock}
	at := t.search(iova)
	if at < len(t.pieces) && n.before(&t.pieces[at]) {
		n.size += t.pieces[at].size
		t.pieces = slices.Delete(t.pieces, at, at+1)
	}
	if at > 0 && t.pieces[at-1].before(&n) {
		b := &t.pieces[at-1]
		b.size, b.age = b.size+n.size, n.age
		return
	}
	t.pieces = slices.Insert(t.pieces, at, n)
	t.shrink()
}

// shrink makes it small enough.
func (t *IOTLB) shrink() {
	for len(t.pieces) > MaxIOTLB {
		oldest := 0
		for i := range t.pieces {
			if t.pieces[i].age < t.pieces[oldest].age {
				oldest = i
			}
		}
		t.pieces = slices.Delete(t.pieces, oldest, oldest+1)
	}
}

// search is the index of the first piece that ends at iova or behind it.
func (t *IOTLB) search(iova uint64) int {
	i, _ := slices.BinarySearchFunc(t.pieces, iova, func(p piece, a uint64) int {
		if p.last() < a {
			return -1
		}
		return 1
	})
	return i
}

// Invalidate forgets the size bytes at iova; size 0 or one that wraps means all that follows.
// It tells whether anything was there.
func (t *IOTLB) Invalidate(iova, size uint64) bool {
	last := iova + size - 1
	if last < iova || size == 0 {
		last = ^uint64(0)
	}
	from := t.search(iova)
	to := from
	for to < len(t.pieces) && t.pieces[to].iova <= last {
		to++
	}
	if from == to {
		return false
	}
	var rest []piece // of the first and the last
	if p := t.pieces[from]; p.iova < iova {
		p.size = iova - p.iova
		rest = append(rest, p)
	}
	if p := t.pieces[to-1]; p.last() > last {
		cut := last + 1 - p.iova
		p.iova, p.size, p.host = p.iova+cut, p.size-cut, p.host+uintptr(cut)
		rest = append(rest, p)
	}
	t.pieces = slices.Replace(t.pieces, from, to, rest...)
	t.shrink()
	return true
}

// Map is the pieces with all the permissions in perm.
func (t *IOTLB) Map(perm Perm) *mem.Map {
	regions := make([]mem.Region, 0, len(t.pieces))
	for i := range t.pieces {
		p := &t.pieces[i]
		if p.perm&perm != perm {
			continue
		}
		if k := len(regions) - 1; k >= 0 {
			if l := &regions[k]; l.Guest+l.Size == p.iova && p.iova != 0 && l.Host+uintptr(l.Size) == p.host {
				l.Size += p.size
				continue
			}
		}
		regions = append(regions, mem.Region{Guest: p.iova, Size: p.size, Host: p.host})
	}
	m, err := mem.NewMap(regions)
	if err != nil {
		panic(err) // pieces are disjoint
	}
	return m
}
