package datapath

import (
	"fmt"
	"sync/atomic"
)

// Each port's learned addresses are a list, the least recently seen first: the
// head is the next to age, and the next to go when the table is full and the
// port has the most. So one port that shows any number of addresses
// takes room from nobody but itself (CERT VU#784996).

// link is a slot's place in its port's list; slots are counted from 1, 0 is none.
type link struct{ prev, next int32 }

type list struct{ head, tail, n int32 }

// setPorts makes room for ports below n. Control code calls it before any of them
// is in a snapshot.
func (t *macTable) setPorts(n int) {
	if n <= len(t.lists) {
		return
	}
	l := make([]list, n+16)
	t.mu.lock()
	copy(l, t.lists)
	t.lists = l
	t.mu.unlock()
}

// link puts slot i at the tail of port's list. mu is held.
func (t *macTable) link(i int, port uint16) {
	l, s := &t.lists[port], int32(i+1)
	t.links[i] = link{prev: l.tail}
	if l.tail != 0 {
		t.links[l.tail-1].next = s
	} else {
		l.head = s
	}
	l.tail = s
	l.n++
	if l.n > t.fatN {
		t.fat, t.fatN = port, l.n
	}
}

// unlink takes slot i out of port's list. mu is held.
func (t *macTable) unlink(i int, port uint16) {
	l, k := &t.lists[port], t.links[i]
	if k.prev != 0 {
		t.links[k.prev-1].next = k.next
	} else {
		l.head = k.next
	}
	if k.next != 0 {
		t.links[k.next-1].prev = k.prev
	} else {
		l.tail = k.prev
	}
	l.n--
}

// evict removes the oldest address of the port that has the most, and reports
// whether there was any that is not static. mu is held.
func (t *macTable) evict(ms int64) bool {
	if len(t.lists) == 0 {
		return false
	}
	if t.lists[t.fat].n < t.fatN {
		t.fatN = 0
		for p := range t.lists {
			if n := t.lists[p].n; n > t.fatN {
				t.fat, t.fatN = uint16(p), n
			}
		}
	}
	head := t.lists[t.fat].head
	if head == 0 {
		return false
	}
	t.remove(int(head - 1))
	t.stats.Evicted++
	t.loss.traffic(ms)
	return true
}

// expire removes the addresses that were last seen before second limit and
// reports how many there were.
func (t *macTable) expire(limit uint32) int {
	n := 0
	for p := 0; ; p++ {
		t.mu.lock()
		if p >= len(t.lists) {
			t.mu.unlock()
			return n
		}
		for k := 0; k < slice; k++ { // then let the poll threads have the lock
			head := t.lists[p].head
			if head == 0 || int32(valSec(t.slots[2*head-1])-limit) >= 0 {
				break
			}
			t.remove(int(head - 1))
			t.stats.Expired++
			n++
			if k == slice-1 {
				p-- // go on with this port
			}
		}
		t.mu.unlock()
	}
}

// slice is how many slots are looked at, or addresses removed, before the poll threads
// may have the lock.
const slice = 64

// flushPort removes all addresses of a port, or all but static ones: those that were
// there at the call.
func (t *macTable) flushPort(port uint16, static bool) {
	t.flushList(int(port))
	if !static {
		return
	}
	for i := 0; i < len(t.links); {
		t.mu.lock()
		if t.stats.Static == 0 {
			t.mu.unlock()
			return
		}
		for end := min(i+slice, len(t.links)); i < end; i++ {
			if t.slots[2*i] != 0 && valPort(t.slots[2*i+1]) == port {
				t.remove(i)
			}
		}
		t.mu.unlock()
	}
}

// flush removes all addresses but static ones.
func (t *macTable) flush() {
	for p := 0; t.flushList(p); p++ {
		continue
	}
}

// flushList removes the learned addresses of a port, unless they are seen meanwhile, and
// reports whether there is such a port.
func (t *macTable) flushList(port int) bool {
	for left := -1; ; {
		t.mu.lock()
		if port >= len(t.lists) {
			t.mu.unlock()
			return false
		}
		l := &t.lists[port]
		if left < 0 {
			left = int(l.n)
		}
		for k := 0; k < slice && left > 0 && l.head != 0; k++ {
			t.remove(int(l.head - 1))
			left--
		}
		done := left == 0 || l.head == 0
		t.mu.unlock()
		if done {
			return true
		}
	}
}

// setStatic adds or replaces an address that neither ages nor moves. It
// reports false if there is no room.
func (t *macTable) setStatic(key uint64, port uint16, ms int64) bool {
	t.mu.lock()
	defer t.mu.unlock()
	if i := t.find(key); i >= 0 {
		t.remove(i)
	}
	return t.insert(key, macVal(port, 0)|isStatic, ms)
}

// del removes an address and reports whether it was there.
func (t *macTable) del(key uint64) bool {
	t.mu.lock()
	defer t.mu.unlock()
	i := t.find(key)
	if i < 0 {
		return false
	}
	t.remove(i)
	return true
}

// resized is a table of another size with the same addresses, or the latest of
// them and all static ones. It fails if these do not fit; otherwise t learns nothing
// more. No control code may change t meanwhile.
func (t *macTable) resized(size int, ms int64) (*macTable, error) {
	t.mu.lock()
	static, frozen := t.stats.Static, t.frozen
	t.frozen = true
	t.mu.unlock()
	// Poll threads keep off a frozen table, so the lock is not needed to read it.
	n := newMACTable(size, t.loss)
	n.lists = make([]list, len(t.lists))
	for i := range t.links {
		if t.slots[2*i] != 0 && t.slots[2*i+1]&isStatic != 0 {
			n.insert(t.slots[2*i], t.slots[2*i+1], ms)
		}
	}
	if n.stats.Static != static {
		t.mu.lock()
		t.frozen = frozen
		t.mu.unlock()
		return nil, fmt.Errorf("MAC table size %d: no room for its %d static entries", size, static)
	}
	for p := range t.lists {
		for s := t.lists[p].head; s != 0; s = t.links[s-1].next {
			n.insert(t.slots[2*s-2], t.slots[2*s-1], ms)
		}
	}
	evicted, lost := n.stats.Evicted, n.stats.NotLearned
	n.stats = t.stats
	n.stats.Max = uint64(size)
	n.stats.Evicted += evicted + lost
	return n, nil
}

// entry is one address, as control code sees it.
type entry struct{ key, val uint64 }

// entries lists what is in the table. It takes no lock.
func (t *macTable) entries() []entry {
	var l []entry
	for i := range t.links {
		k, v := atomic.LoadUint64(&t.slots[2*i]), atomic.LoadUint64(&t.slots[2*i+1])
		if k != 0 && k == atomic.LoadUint64(&t.slots[2*i]) {
			l = append(l, entry{k, v})
		}
	}
	return l
}
