package datapath

import (
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
)

// macTable maps (VLAN, MAC) to a port. Lookups take no lock; whoever changes it
// holds mu. A slot is 16 bytes, a bucket of four one cache line; an address
// is in its bucket or, if that was full, in one of the next few.
//
//	key   bit 63: used | 59..48: VLAN | 47..0: MAC, first byte lowest
//	value bit 63: used | 48: static | 47..16: second of the last refresh | 15..0: port
//
// A writer that fills a slot stores the value first, one that empties it clears
// the key; a reader loads key, value and key again.
type macTable struct {
	mask   uint64 // buckets - 1
	seed   uint64 // keeps guests from choosing addresses that collide
	slots  []uint64
	probes atomic.Uint32 // buckets that a lookup has to look at
	loss   *lossGen

	mu     spinLock
	max    int
	n      int
	links  []link // by slot
	lists  []list // by port
	fat    uint16 // the port with most entries, if it still has fatN
	fatN   int32  // no port has more
	frozen bool   // replaced by a table of another size
	stats  MACStats
}

const (
	used      = 1 << 63
	macMask   = 1<<48 - 1
	vlanShift = 48
	isStatic  = 1 << 48
	maxProbes = 16
)

// macKey is the key of a MAC (first byte lowest) in a VLAN.
func macKey(mac uint64, vlan uint16) uint64 {
	return mac | uint64(vlan)<<vlanShift | used
}

func macVal(port uint16, sec uint32) uint64 { return used | uint64(sec)<<16 | uint64(port) }

func valPort(v uint64) uint16 { return uint16(v) }
func valSec(v uint64) uint32  { return uint32(v >> 16) }

// macBuckets is how many buckets a table for so many addresses has: it is at most half
// full.
func macBuckets(size int) uint64 { return 1 << bits.Len64(uint64(max(size/2, 4)-1)) }

// macTableBytes is the memory of such a table, 0 for none.
func macTableBytes(size int) int64 {
	if size == 0 {
		return 0
	}
	const bucket = 4 * (16 + 8) // slots and links
	return int64(macBuckets(size)) * bucket
}

func newMACTable(size int, loss *lossGen) *macTable {
	buckets := macBuckets(size)
	t := &macTable{
		mask:  buckets - 1,
		seed:  rand.Uint64(),
		slots: make([]uint64, buckets*8),
		links: make([]link, buckets*4),
		loss:  loss,
		max:   size,
	}
	t.probes.Store(1)
	t.stats.Max = uint64(size)
	return t
}

func (t *macTable) bucket(key uint64) uint64 {
	hi, lo := bits.Mul64(key^t.seed, 0x9e3779b97f4a7c15)
	return (hi ^ lo) & t.mask
}

// lookup is the value of key, 0 if it is not there.
func (t *macTable) lookup(key uint64) uint64 {
	h := t.bucket(key)
	for n := t.probes.Load(); n > 0; n-- {
		s := (*[8]uint64)(t.slots[h*8:])
		for j := 0; j < 8; j += 2 {
			if atomic.LoadUint64(&s[j]) == key {
				v := atomic.LoadUint64(&s[j+1])
				if atomic.LoadUint64(&s[j]) == key {
					return v
				}
			}
		}
		h = (h + 1) & t.mask
	}
	return 0
}

// find is the slot of key, -1 if it is not there. mu is held.
func (t *macTable) find(key uint64) int {
	h := t.bucket(key)
	for n := t.probes.Load(); n > 0; n-- {
		for j := h * 8; j < h*8+8; j += 2 {
			if t.slots[j] == key {
				return int(j / 2)
			}
		}
		h = (h + 1) & t.mask
	}
	return -1
}

// put stores key in a free slot and returns it, -1 if there is none in reach.
// mu is held; key is not there.
func (t *macTable) put(key, val uint64) int {
	h := t.bucket(key)
	for n := uint32(1); n <= maxProbes; n++ {
		for j := h * 8; j < h*8+8; j += 2 {
			if t.slots[j] != 0 {
				continue
			}
			if n > t.probes.Load() {
				t.probes.Store(n)
			}
			atomic.StoreUint64(&t.slots[j+1], val)
			atomic.StoreUint64(&t.slots[j], key)
			return int(j / 2)
		}
		h = (h + 1) & t.mask
	}
	return -1
}

// learn notes that key was seen at port in second sec, ms being the time more
// precisely. It is called when lookup did not give just that: the
// address is new, has moved, or is to be refreshed.
func (t *macTable) learn(key uint64, port uint16, sec uint32, ms int64) {
	t.mu.lock()
	defer t.mu.unlock()
	if t.frozen || int(port) >= len(t.lists) {
		return
	}
	i := t.find(key)
	if i < 0 {
		t.insert(key, macVal(port, sec), ms)
		return
	}
	old := t.slots[2*i+1]
	switch {
	case old&isStatic != 0:
		if valPort(old) != port {
			t.stats.StaticMoveDropped++
		}
		return
	case valPort(old) != port:
		t.stats.Moved++
		defer t.loss.traffic(ms)
	}
	t.unlink(i, valPort(old))
	t.link(i, port)
	atomic.StoreUint64(&t.slots[2*i+1], macVal(port, sec))
}

// insert adds an address that is not there, making room if need be. mu is held.
func (t *macTable) insert(key, val uint64, ms int64) bool {
	if t.n >= t.max && !t.evict(ms) {
		t.stats.NotLearned++
		return false
	}
	i := t.put(key, val)
	if i < 0 {
		t.stats.NotLearned++
		return false
	}
	t.n++
	if val&isStatic == 0 {
		t.stats.Learned++
		t.link(i, valPort(val))
	} else {
		t.stats.Static++
	}
	return true
}

// remove empties slot i. mu is held.
func (t *macTable) remove(i int) {
	v := t.slots[2*i+1]
	atomic.StoreUint64(&t.slots[2*i], 0)
	t.n--
	if v&isStatic == 0 {
		t.unlink(i, valPort(v))
	} else {
		t.stats.Static--
	}
}
