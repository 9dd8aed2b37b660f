package driver

import "github.com/gvswitch/gvswitch/internal/mem"

// txPacked is a packed transmit ring.
type txPacked struct {
	packed
	buffers
	order   bool
	slot    []uint64 // entry -> the address it has
	entries []uint16 // of the frame that begins with a buffer; 0: the device has no such frame
	sent    uint16   // frames that the device has

	heads    []uint16 // in order: their first buffers
	old, new uint16   // in order: the oldest in heads, and where the next one goes

	// The first descriptor that was added is made available last, by Publish.
	heldAt   uintptr
	heldWord uint32
}

func newTxPacked(c Config, order bool) *txPacked {
	t := &txPacked{
		packed: newPacked(c), buffers: newBuffers(c), order: order,
		slot: make([]uint64, c.Size), entries: make([]uint16, c.Size), heads: make([]uint16, c.Size),
	}
	for i := range t.slot {
		t.slot[i] = ^uint64(0)
	}
	return t
}

// Reserve implements Tx.
func (t *txPacked) Reserve(want int) int {
	want = min(want, MaxPieces)
	if int(t.last-t.first) < want {
		t.Reclaim()
	}
	n := min(want, int(t.last-t.first))
	if t.Broken() != OK {
		n = 0
	}
	t.take(n)
	return n
}

// Add implements Tx.
func (t *txPacked) Add(n int) {
	for i := 0; i < n; {
		p, id, k := &t.Pieces.Pieces[i], t.IDs[i], 1
		if p.More || t.table != 0 {
			k = t.frame(i)
		} else {
			t.cont[id] = none
			t.entries[id] = 1
			t.put(t.addr(id, p.Off), p.Len, id, 0)
		}
		t.heads[t.new&t.mask] = id
		t.new++
		t.sent++
		i += k
	}
	t.first += uint32(n)
}

// frame writes the descriptors of the frame of several pieces or by a table that begins with piece i,
// and returns how many pieces it has.
func (t *txPacked) frame(i int) int {
	id, n := t.IDs[i], t.chain(i)
	if t.table != 0 {
		t.entries[id] = 1
		addr, length := t.makeTable(i, n)
		t.put(addr, length, id, descIndirect)
		return n
	}
	t.entries[id] = uint16(n)
	for k := range n {
		p := t.Pieces.Pieces[i+k]
		flags := uint32(0)
		if p.More {
			flags = descNext
		}
		t.put(t.addr(t.IDs[i+k], p.Off), p.Len, id, flags)
	}
	return n
}

// put writes the next descriptor.
func (t *txPacked) put(addr uint64, length uint32, id uint16, flags uint32) {
	at := t.at(t.head.at)
	if t.slot[t.head.at] != addr {
		t.slot[t.head.at] = addr
		mem.Store64(at, addr)
	}
	mem.Store32(at+8, length)
	word := uint32(id) | (flags|t.head.avail())<<16
	if t.heldAt == 0 {
		t.heldAt, t.heldWord = at+12, word
	} else {
		mem.Store32Release(at+12, word)
	}
	t.head.step(1, t.size)
	t.fill++
}

// Publish implements Tx.
func (t *txPacked) Publish() {
	if t.heldAt != 0 {
		mem.Store32Release(t.heldAt, t.heldWord)
		t.heldAt = 0
	}
}

// Reclaim implements Tx.
func (t *txPacked) Reclaim() {
	for t.Broken() == OK && t.sent > 0 && t.used() {
		id := mem.Load16(t.at(t.tail.at) + 12)
		if id >= t.size || t.entries[id] == 0 {
			t.Break(BadID)
			return
		}
		if !t.order {
			t.done(id)
			continue
		}
		// One descriptor may stand for several frames: its buffer is that of the last (virtio 1.2,
		// section 2.8.7).
		for {
			head := t.heads[t.old&t.mask]
			t.old++
			t.done(head)
			if head == id {
				break
			}
		}
	}
}

// done takes a frame back. A frame that was not published yet is not the device's to
// use, but that it does so harms only the device.
func (t *txPacked) done(id uint16) {
	t.tail.step(t.entries[id], t.size)
	t.entries[id] = 0
	t.give(id)
	t.sent--
}
