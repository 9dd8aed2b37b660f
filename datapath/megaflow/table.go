package megaflow

import (
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/mem"
)

// Table is one thread's megaflows.
//
// A megaflow is a block of lines:
//
//	0            head: zero 16, subtable 16 (0: free), value 32
//	8            the words of its key that the mask has bits in, masked
//	last 24      Stats
//
// So with up to 4 words all of it is one line, with up to 7 a lookup reads one.
type Table struct {
	slab
	seed  uint64
	mix   [8]uint64 // as seed, for the hashes of subtables
	descs uintptr   // a line for each subtable: see subtable
	subs  []subtable
	order []uint16 // numbers of the subtables, in the order in which they are asked
	limit int
	masks int
	count int
	lines int    // of all megaflows
	extra uint64 // bytes outside the slab
	cold  bool   // megaflows do not fit the second-level cache

	cache cache
	adapt adapt
	stat  counters
	hits  []mem.Counter // of each subtable

	// Scratch of a lookup.
	cacheHash [Batch]uint64
	hash      [Batch]uint64
	addrs     [2 * Batch]uintptr
	found     [Batch]candidate
	pending   [Batch]uint8 // keys not found yet
	missed    [Batch]uint8 // keys that the cache did not know
	moving    []moving     // of a split
}

// coldBytes is how much memory megaflows may use before lookups fetch ahead. The second-level
// caches of servers are 512 KB and more, and others want some of it.
const coldBytes = 192 << 10

// Subtable numbers that are special.
const (
	subNone        = 0 // of free megaflows: matches nothing
	subExactBase   = 1 // kept for the mask of all base words
	subExactPacket = 2 // and of all packet words
	subFirst       = 3
)

// New makes a table. It fails when there is no memory, or on a Config that makes no sense.
func New(c Config) (*Table, error) {
	if c.Masks < 0 || c.Masks > MaxMasks {
		return nil, fmt.Errorf("megaflow masks: %d: not between 0 and %d", c.Masks, MaxMasks)
	}
	if c.Limit < 0 {
		return nil, fmt.Errorf("megaflow limit: %d: negative", c.Limit)
	}
	if c.CacheSlots < 0 || c.CacheSlots > 1<<26 {
		return nil, fmt.Errorf("megaflow cache slots: %d: not between 0 and %d", c.CacheSlots, 1<<26)
	}
	t := &Table{seed: rand.Uint64(), limit: c.Limit, masks: c.Masks}
	if t.limit == 0 {
		t.limit = DefaultLimit
	}
	if t.masks == 0 {
		t.masks = DefaultMasks
	}
	if c.CacheSlots == 0 {
		c.CacheSlots = DefaultCacheSlots
	}
	t.cache.most = max(smallSlots, 1<<bits.Len(uint(c.CacheSlots-1)))
	for i := range t.mix {
		t.mix[i] = rand.Uint64()
	}
	n := t.masks + subFirst
	t.subs = make([]subtable, n)
	t.hits = make([]mem.Counter, n)
	t.order = make([]uint16, 0, n)
	t.adapt.init(n)
	t.moving = make([]moving, 0, 256)
	if t.descs = alloc(t.descBytes()); t.descs == 0 {
		return nil, ErrMemory
	}
	if !t.refuse() {
		release(t.descs, t.descBytes())
		return nil, ErrMemory
	}
	t.SetCache(c.Cache)
	return t, nil
}

func (t *Table) descBytes() int { return (len(t.subs)*lineBytes + 4095) &^ 4095 }

// refuse makes subtable 0 and Ref 0 such that they never match: under the mask of all bits a
// word would have to be zero and all ones. It fails if there is no memory.
func (t *Table) refuse() bool {
	store64(t.descs+8, ^uint64(0))
	store64(t.descs+16, ^uint64(0))
	// The very first line.
	if t.take(1); t.slab.n.Load() == 0 {
		return false
	}
	t.clear(0)
	return true
}

// clear makes megaflow r free, so that whatever finds it does not take it.
func (t *Table) clear(r Ref) {
	e := t.addr(r)
	store64(e, 0)
	store64(e+8, 0)
	store64(e+16, ^uint64(0))
}

// Close gives the table's memory back. Nobody may use the table any more.
func (t *Table) Close() {
	for _, id := range t.order {
		t.subs[id].release()
	}
	t.order = t.order[:0]
	t.cache.resize(0)
	t.slab.close()
	release(t.descs, t.descBytes())
}

// Len is the number of megaflows.
func (t *Table) Len() int { return t.count }

// SetLimit changes Config.Limit; 0: DefaultLimit. What is above stays until it is removed.
func (t *Table) SetLimit(n int) {
	if t.limit = n; n <= 0 {
		t.limit = DefaultLimit
	}
}

// head is the head of a megaflow.
func (t *Table) head(r Ref) uint64 { return load64(t.addr(r)) }

func subOf(head uint64) uint16 { return uint16(head >> 32) }

// Value is the value that Insert gave.
func (t *Table) Value(r Ref) uint32 { return uint32(t.head(r)) }

// Stats are the statistics of a megaflow, valid until it is removed.
func (t *Table) Stats(r Ref) *Stats {
	// All blocks of a chunk are of one class.
	class := uintptr(t.class[r>>chunkBits&(maxChunks-1)])
	return statsAt(t.addr(r) + class*lineBytes - statsBytes)
}

// Flow fills in a megaflow's key, zero where its mask is, and its mask.
func (t *Table) Flow(r Ref, key, mask *flow.Key) {
	*key, *mask = flow.Key{}, flow.Key{}
	e := t.addr(r)
	s := &t.subs[subOf(load64(e))]
	copy(mask[:flow.PacketWords], s.mask[:])
	for i, w := range s.words[:s.n] {
		key[w] = load64(e + 8 + uintptr(i)*8)
	}
}
