package mem

import (
	"errors"
	"fmt"
	"sort"
)

// Region is a piece of a front end's memory that is mapped here: its bytes
// [Guest, Guest+Size) are at [Host, Host+Size).
type Region struct {
	Guest uint64  // first address as the other side names it
	Size  uint64  // bytes, never 0
	Host  uintptr // where it is mapped
}

// Map translates addresses of the other side. It never changes once made, so
// any number of threads may use it; whoever unmaps the memory first makes sure
// that nobody uses the Map any more.
type Map struct{ regions []Region }

// ErrOverlap: two regions cover the same address.
var ErrOverlap = errors.New("memory regions overlap")

// NewMap makes a Map of regions, in any order. It fails on an empty region, one
// that wraps around the end of the address space, and on overlap.
func NewMap(regions []Region) (*Map, error) {
	m := &Map{regions: append([]Region(nil), regions...)}
	sort.Slice(m.regions, func(i, j int) bool { return m.regions[i].Guest < m.regions[j].Guest })
	for i, r := range m.regions {
		if r.Size == 0 || r.Guest+r.Size-1 < r.Guest {
			return nil, fmt.Errorf("memory region %#x+%#x: empty or wraps", r.Guest, r.Size)
		}
		if i > 0 && m.regions[i-1].Guest+m.regions[i-1].Size-1 >= r.Guest {
			return nil, fmt.Errorf("memory region %#x+%#x: %w", r.Guest, r.Size, ErrOverlap)
		}
	}
	return m, nil
}

// few is how many regions are looked through one by one.
const few = 16

// Find is the region that holds guest address addr. The zero Region (size 0)
// says that there is none.
func (m *Map) Find(addr uint64) Region {
	list := m.regions
	for len(list) > few {
		if half := len(list) / 2; addr < list[half].Guest {
			list = list[:half]
		} else {
			list = list[half:]
		}
	}
	for i := range list {
		if r := &list[i]; addr-r.Guest < r.Size {
			return *r
		}
	}
	return Region{}
}

// Translate is the host address of the n bytes at addr, if one region holds
// them all. n may be 0: then addr itself must be inside.
func (m *Map) Translate(addr, n uint64) (uintptr, bool) {
	r := m.Find(addr)
	if r.Size == 0 || n > r.Size-(addr-r.Guest) {
		return 0, false
	}
	return r.Host + uintptr(addr-r.Guest), true
}

// Gap is the first of the n bytes at addr that is in no region, or addr+n if all are.
func (m *Map) Gap(addr, n uint64) uint64 {
	for end := addr + n; addr != end; {
		r := m.Find(addr)
		if r.Size == 0 {
			return addr
		}
		left := r.Size - (addr - r.Guest)
		if left >= end-addr {
			return end
		}
		addr += left
	}
	return addr
}

// Regions is the table in order of guest address, to read only.
func (m *Map) Regions() []Region { return m.regions }

// Owns tells whether host address a lies in one of the regions: whose memory a
// fault was in.
func (m *Map) Owns(a uintptr) bool {
	for i := range m.regions {
		if a-m.regions[i].Host < uintptr(m.regions[i].Size) {
			return true
		}
	}
	return false
}
