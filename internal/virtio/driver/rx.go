package driver

import (
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// Filled is a buffer that the device has filled.
type Filled struct {
	ID  uint16
	Len uint32 // bytes written
}

// Batch is the buffers collected and not posted again.
type Batch struct {
	Bufs []Filled // as many as the ring has entries; the first n are valid
	n    int
}

// keep forgets the first n buffers.
func (h *Batch) keep(n int) {
	copy(h.Bufs, h.Bufs[n:h.n])
	h.n -= n
}

// Rx is a receive ring. All its buffers are posted when it is made; the caller then
// notifies the device if NeedKick says so.
type Rx interface {
	// Held is where Collect puts the buffers. It is always the same.
	Held() *Batch
	// Collect makes Held().Bufs[0:n] what the device has filled, want buffers
	// at most (but never fewer than before), in order, and returns n.
	Collect(want int) int
	// Post gives the first n collected buffers to the device again and shows it all at once.
	Post(n int)
	Signals
}

// NewRx makes the receive ring that the features ask for.
func NewRx(c Config) (Rx, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	order := c.Features&virtio.FInOrder != 0
	switch {
	case c.Features&virtio.FRingPacked != 0:
		return newRxPacked(c, order), nil
	case order:
		return newRxOrdered(c), nil
	default:
		return newRxSplit(c), nil
	}
}

// rxSplit is a split ring whose device uses buffers in any order.
type rxSplit struct {
	split
	out    []bool // buffers that the device has
	limit  uint32 // what it may write to one
	posted uint16 // how many it has
	Batch
}

func newRxSplit(c Config) *rxSplit {
	r := &rxSplit{split: newSplit(c), out: make([]bool, c.Size), limit: c.Len, Batch: Batch{Bufs: make([]Filled, c.Size), n: c.Size}}
	for i := range c.Size {
		id := uint16(i)
		r.Bufs[i].ID = id
		d := c.Desc + 16*uintptr(i)
		mem.Store64(d, c.Guest+uint64(i)*uint64(c.Stride)+uint64(c.Offset))
		mem.Store64(d+8, uint64(c.Len)|descWrite<<32)
	}
	r.Post(c.Size)
	return r
}

// Held implements Rx.
func (r *rxSplit) Held() *Batch { return &r.Batch }

// Collect implements Rx.
func (r *rxSplit) Collect(want int) int {
	n := r.more(want-r.n, r.posted)
	if n <= 0 {
		return r.n
	}
	mem.PrefetchRange(r.used+4+8*uintptr(r.next&r.mask), 8*n)
	for range n {
		e := mem.Load64(r.used + 4 + 8*uintptr(r.next&r.mask))
		id, length := uint32(e), uint32(e>>32)
		if id > uint32(r.mask) || !r.out[id] {
			r.Break(BadID)
			break
		}
		if length > r.limit {
			r.Break(BadLength)
			break
		}
		r.out[id] = false
		r.Bufs[r.n] = Filled{uint16(id), length}
		r.n++
		r.next++
		r.posted--
	}
	return r.n
}

// Post implements Rx.
func (r *rxSplit) Post(n int) {
	for i := range r.Bufs[:n] {
		id := r.Bufs[i].ID
		r.out[id] = true
		r.offer(id)
	}
	r.posted += uint16(n)
	r.keep(n)
	r.publish()
}

// rxOrdered is a split ring whose device uses buffers in the order in which it got them. So
// they go round in the same order for ever, and once each has
// its place in the available ring, nothing of that changes any more.
type rxOrdered struct{ rxSplit }

func newRxOrdered(c Config) *rxOrdered {
	r := &rxOrdered{rxSplit: rxSplit{split: newSplit(c), limit: c.Len, Batch: Batch{Bufs: make([]Filled, c.Size), n: c.Size}}}
	for i := range c.Size {
		id := (r.avail.next + uint16(i)) & r.mask
		r.Bufs[i].ID = id
		d := c.Desc + 16*uintptr(id)
		mem.Store64(d, c.Guest+uint64(id)*uint64(c.Stride)+uint64(c.Offset))
		mem.Store64(d+8, uint64(c.Len)|descWrite<<32)
		r.write(id, id)
	}
	r.Post(c.Size)
	return r
}

// Collect implements Rx.
func (r *rxOrdered) Collect(want int) int {
	n := r.more(want-r.n, r.posted)
	if n <= 0 {
		return r.n
	}
	mem.PrefetchRange(r.used+4+8*uintptr(r.next&r.mask), 8*n)
	for range n {
		e := mem.Load64(r.used + 4 + 8*uintptr(r.next&r.mask))
		id, length := uint32(e), uint32(e>>32)
		if id != uint32(r.next&r.mask) {
			r.Break(BadOrder)
			break
		}
		if length > r.limit {
			r.Break(BadLength)
			break
		}
		r.Bufs[r.n] = Filled{uint16(id), length}
		r.n++
		r.next++
		r.posted--
	}
	return r.n
}

// Post implements Rx.
func (r *rxOrdered) Post(n int) {
	r.avail.next += uint16(n)
	r.posted += uint16(n)
	r.keep(n)
	r.publish()
}
