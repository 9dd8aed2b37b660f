package driver

import "github.com/gvswitch/gvswitch/internal/mem"

// splitTable is what split rings have in common, in whatever order their device uses frames.
type splitTable struct {
	split
	buffers
	desc uintptr
	done []words // descriptors as they stand
	sent uint16  // how many frames the device has
}

func newSplitTable(c Config) splitTable {
	return splitTable{split: newSplit(c), buffers: newBuffers(c), desc: c.Desc, done: make([]words, c.Size)}
}

// txSplit is a split ring whose device uses frames in any order.
type txSplit struct {
	splitTable
	head []bool // frames that the device has begin with these buffers
}

func newTxSplit(c Config) *txSplit {
	return &txSplit{splitTable: newSplitTable(c), head: make([]bool, c.Size)}
}

// Reserve implements Tx.
func (t *txSplit) Reserve(want int) int {
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
func (t *txSplit) Add(n int) {
	for i := 0; i < n; {
		p, id, k := &t.Pieces.Pieces[i], t.IDs[i], 1
		if p.More || t.table != 0 {
			k = t.frame(i)
		} else {
			t.cont[id] = none
			t.put(id, t.addr(id, p.Off), uint64(p.Len))
		}
		t.offer(id)
		t.head[id] = true
		t.sent++
		i += k
	}
	t.first += uint32(n)
}

// frame writes the descriptors of the frame of several pieces or by a table that begins with piece i,
// and returns how many pieces it has.
func (t *splitTable) frame(i int) int {
	n := t.chain(i)
	if t.table != 0 {
		addr, length := t.makeTable(i, n)
		t.put(t.IDs[i], addr, uint64(length)|descIndirect<<32)
		return n
	}
	for k := range n {
		p, id := t.Pieces.Pieces[i+k], t.IDs[i+k]
		rest := uint64(p.Len)
		if p.More {
			rest |= descNext<<32 | uint64(t.IDs[i+k+1])<<48
		}
		t.put(id, t.addr(id, p.Off), rest)
	}
	return n
}

// put writes a descriptor where another one stands.
func (t *splitTable) put(id uint16, addr, rest uint64) {
	d := &t.done[id]
	at := t.desc + 16*uintptr(id)
	if d.addr != addr {
		d.addr = addr
		mem.Store64(at, addr)
	}
	if d.rest != rest {
		d.rest = rest
		mem.Store64(at+8, rest)
	}
}

// Publish implements Tx.
func (t *splitTable) Publish() { t.publish() }

// Reclaim implements Tx.
func (t *txSplit) Reclaim() {
	n := t.more(int(t.sent), t.sent)
	if n == 0 {
		return
	}
	mem.PrefetchRange(t.used+4+8*uintptr(t.next&t.split.mask), 8*n)
	for range n {
		id := mem.Load32(t.used + 4 + 8*uintptr(t.next&t.split.mask))
		if id > uint32(t.split.mask) || !t.head[id] {
			t.Break(BadID)
			return
		}
		t.head[id] = false
		t.give(uint16(id))
		t.next++
		t.sent--
	}
}

// txOrdered is a split ring whose device uses frames in the order in which it got them, so that
// its index says it all: used entries, which it may leave out, are not read.
type txOrdered struct {
	splitTable
	heads []uint16 // of the frames that the device has, by their index
}

func newTxOrdered(c Config) *txOrdered {
	return &txOrdered{splitTable: newSplitTable(c), heads: make([]uint16, c.Size)}
}

// Reserve implements Tx.
func (t *txOrdered) Reserve(want int) int {
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
func (t *txOrdered) Add(n int) {
	for i := 0; i < n; {
		p, id, k := &t.Pieces.Pieces[i], t.IDs[i], 1
		if p.More || t.table != 0 {
			k = t.frame(i)
		} else {
			t.cont[id] = none
			t.put(id, t.addr(id, p.Off), uint64(p.Len))
		}
		t.heads[t.avail.next&t.split.mask] = id
		t.offer(id)
		t.sent++
		i += k
	}
	t.first += uint32(n)
}

// Reclaim implements Tx.
func (t *txOrdered) Reclaim() {
	n := t.more(int(t.sent), t.sent)
	for range n {
		t.give(t.heads[t.next&t.split.mask])
		t.next++
	}
	t.sent -= uint16(n)
}
