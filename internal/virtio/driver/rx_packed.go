package driver

import "github.com/gvswitch/gvswitch/internal/mem"

// rxPacked is a packed receive ring. In order or not is nearly the same: the device writes a
// descriptor for each buffer, since only there it says how much is in it.
type rxPacked struct {
	packed
	order  bool
	out    []bool   // buffers that the device has
	slot   []uint16 // entry -> the buffer whose address it has
	first  uint16   // in order: the buffer to be used next
	posted uint16
	guest  uint64
	stride uint64
	limit  uint32
	Batch
}

func newRxPacked(c Config, order bool) *rxPacked {
	r := &rxPacked{
		packed: newPacked(c), order: order, out: make([]bool, c.Size), slot: make([]uint16, c.Size),
		guest: c.Guest + uint64(c.Offset), stride: uint64(c.Stride), limit: c.Len,
		Batch: Batch{Bufs: make([]Filled, c.Size), n: c.Size},
	}
	for i := range c.Size {
		r.Bufs[i].ID, r.slot[i] = uint16(i), none
	}
	r.Post(c.Size)
	return r
}

// Held implements Rx.
func (r *rxPacked) Held() *Batch { return &r.Batch }

// Collect implements Rx.
func (r *rxPacked) Collect(want int) int {
	if r.Broken() != OK {
		return r.n
	}
	ready := r.ready(min(want-r.n, int(r.posted)))
	if ready == 0 {
		return r.n
	}
	mem.Acquire()
	for range ready {
		w := mem.Load64(r.at(r.tail.at) + 8)
		id, length := uint16(w>>32), uint32(w)
		switch {
		case id >= r.size || !r.out[id]:
			r.Break(BadID)
		case length > r.limit:
			r.Break(BadLength)
		case r.order && id != r.first:
			r.Break(BadOrder)
		}
		if r.Broken() != OK {
			return r.n
		}
		r.first = (id + 1) & (r.size - 1)
		r.out[id] = false
		r.Bufs[r.n] = Filled{id, length}
		r.n++
		r.posted--
		r.tail.step(1, r.size)
	}
	return r.n
}

// ready is how many entries from the tail on are used, most at most. What is in them may be read
// after mem.Acquire.
func (r *rxPacked) ready(most int) (n int) {
	for s := r.tail; n < most; n++ {
		want := uint16(0)
		if s.wrap {
			want = descAvail | descUsed
		}
		if mem.Peek16(r.at(s.at)+14)&(descAvail|descUsed) != want {
			break
		}
		s.step(1, r.size)
	}
	return n
}

// Post implements Rx.
func (r *rxPacked) Post(n int) {
	if n == 0 {
		return
	}
	first, s := r.head, r.head
	s.step(1, r.size)
	for i := 1; i < n; i++ {
		r.write(s, r.Bufs[i].ID)
		s.step(1, r.size)
	}
	r.write(first, r.Bufs[0].ID) // the device looks here first
	r.head = s
	r.fill += uint16(n)
	r.posted += uint16(n)
	r.keep(n)
}

// write makes a buffer available. The device has written over all of the descriptor but the address.
func (r *rxPacked) write(s spot, id uint16) {
	r.out[id] = true
	at := r.at(s.at)
	if r.slot[s.at] != id {
		r.slot[s.at] = id
		mem.Store64(at, r.guest+uint64(id)*r.stride)
	}
	mem.Store32(at+8, r.limit)
	mem.Store32Release(at+12, uint32(id)|(descWrite|s.avail())<<16)
}
