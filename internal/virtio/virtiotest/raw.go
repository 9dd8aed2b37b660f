package virtiotest

import (
	"encoding/binary"

	"github.com/gvswitch/gvswitch/internal/mem"
)

// PutDesc writes a descriptor to b.
func PutDesc(b []byte, addr uint64, n uint32, flags, next uint16) {
	a := mem.AddrOf(b[:descSize])
	mem.Store64(a, addr)
	mem.Store32(a+8, n)
	mem.Store16(a+12, flags)
	mem.Store16(a+14, next)
}

// RawDesc writes descriptor i of the ring's table, whatever it may mean.
func (r *Ring) RawDesc(i int, addr uint64, n uint32, flags, next uint16) {
	PutDesc(r.Mem.At(r.Desc+uint64(i*descSize), descSize), addr, n, flags, next)
}

// RawAvail writes entry i of the available ring.
func (r *Ring) RawAvail(i int, head uint16) { mem.Store16(r.addr(r.Avail+4+uint64(2*i), 2), head) }

// RawAvailIdx writes the available index.
func (r *Ring) RawAvailIdx(v uint16) { mem.Store16Release(r.addr(r.Avail+2, 2), v) }

// UsedIdx is the index that the device published.
func (r *Ring) UsedIdx() uint16 { return mem.Load16Acquire(r.addr(r.Used+2, 2)) }

// UsedEntry is entry i of the used ring.
func (r *Ring) UsedEntry(i int) (id, n uint32) {
	b := r.Mem.At(r.Used+4+uint64(8*i), 8)
	return binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
}

// UsedFlags is what the device says about notifications.
func (r *Ring) UsedFlags() uint16 { return mem.Load16Acquire(r.addr(r.Used, 2)) }

// AvailEvent is the index at which the device wants a kick (EVENT_IDX).
func (r *Ring) AvailEvent() uint16 {
	return mem.Load16Acquire(r.addr(r.Used+4+uint64(8*r.Size), 2))
}

// RawUsedEvent writes the index at which the driver wants a call (EVENT_IDX).
func (r *Ring) RawUsedEvent(v uint16) {
	mem.Store16Release(r.addr(r.Avail+4+uint64(2*r.Size), 2), v)
}
