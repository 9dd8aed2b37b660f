package megaflow

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/mem"
)

// cache leads from the hash of a whole key to a megaflow that it may belong to. It is never told of
// megaflows that go: what is found has to agree with the key.
type cache struct {
	base  uintptr // 0: none
	mask  uint64  // buckets - 1
	slots int
	most  int // largest size
	turn  uint64
	evict uint64 // slots taken from others
	mode  CacheMode
}

// smallSlots is the size of the smallest cache: 32 KB.
const smallSlots = 4096

// bucket is the one for hash h.
func (c *cache) bucket(h uint64) uintptr { return c.base + uintptr(h&c.mask)*lineBytes }

// resize makes c an empty cache with that many slots, or none.
func (c *cache) resize(slots int) {
	if slots == c.slots {
		return
	}
	if c.base != 0 {
		release(c.base, c.slots*8)
	}
	c.base, c.slots, c.mask = 0, 0, 0
	if slots == 0 {
		return
	}
	if c.base = alloc(slots * 8); c.base == 0 {
		return // without one
	}
	c.slots, c.mask = slots, uint64(slots/bucketSlots-1)
}

// put fills a slot for hash h.
func (c *cache) put(h uint64, r Ref) {
	b, tag := c.bucket(h), tagOf(h)
	m := match(b, tag)
	if m == 0 {
		m = match(b, 0)
	}
	if m == 0 {
		c.evict++
		c.turn += 0x9e3779b97f4a7c15
		set(b, b+bucketRefs+uintptr(c.turn>>61)*4, tag, r)
		return
	}
	set(b, refAt(b, m), tag, r)
}

// ask looks the keys up in the cache. What it does not know is in pending afterwards; ask returns
// how many there are.
func (t *Table) ask(keys []flow.Key, out []Ref, full bool) int {
	n := len(keys)
	c := &t.cache
	if full {
		for i := range keys {
			t.cacheHash[i] = t.hashFull(&keys[i])
		}
	} else {
		for i := range keys {
			t.cacheHash[i] = keys[i].HashBase(t.seed)
		}
	}
	if c.slots > smallSlots {
		for i, h := range t.cacheHash[:n] {
			t.addrs[i] = c.bucket(h)
		}
		mem.Prefetch(t.addrs[:n])
	}
	for i, h := range t.cacheHash[:n] {
		b := c.bucket(h)
		m := match(b, tagOf(h))
		r := Ref(load32(refAt(b, m)))
		if m == 0 {
			r = 0
		}
		t.found[i].ref = r
	}
	if t.cold {
		t.fetch(n)
	}
	left := 0
	for i := range keys {
		r := t.found[i].ref
		e := t.addr(r)
		if t.agrees(e, &keys[i]) {
			out[i] = r
			t.hits[subOf(load64(e))].Add(1)
			continue
		}
		t.pending[left] = uint8(i)
		left++
	}
	return left
}

// teach tells the cache of what it did not know: the first n keys of missed.
func (t *Table) teach(out []Ref, n int) {
	for _, i := range t.missed[:n] {
		if r := out[i]; r != 0 {
			t.cache.put(t.cacheHash[i], r)
		}
	}
}
