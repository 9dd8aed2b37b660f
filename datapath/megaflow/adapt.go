package megaflow

import (
	"math/bits"

	"github.com/gvswitch/gvswitch/internal/mem"
)

// adapt is what a table knows of its traffic, to order the subtables and choose the size of the
// cache. It is thought over at the end of each epoch.
type adapt struct {
	left  int      // lookups until the end of the epoch
	score []uint64 // of each subtable: its hits, older ones counting half in each epoch
	last  []uint64 // of each subtable: its hits at the start of the epoch

	// Counters at the start of the epoch.
	lookups, hits, evict uint64

	rest, pause int // epochs until a cache is tried again, and how many it will be the next time
	hold, keep  int // epochs until the cache may shrink, and how many it will be when it has grown again

	// fresh: the cache was empty at the start of the epoch. What it did not know says
	// nothing yet; that it had to forget does.
	fresh bool

	// A sample of one key of each batch tells whether there are few flows.
	samples int
	seen    [seenBits / 64]uint64
}

const (
	epoch = 1 << 16
	// The first epochs are short.
	firstEpoch = 1 << 12

	seenBits   = 1 << 13
	maxSamples = 2048
	// fewSeen of maxSamples different keys: some 2,700 flows or less, if they are alike.
	fewSeen = 1400
)

// What things cost, in nanoseconds measured on a server. Only their proportions
// matter.
const (
	costProbe    = 20 // of one subtable
	costFarProbe = 24 // of one that the second-level cache does not hold
	costTeach    = 10 // a key that the cache did not know
)

// cost is what asking a cache of that size takes, hit or not.
func cost(slots int) uint64 {
	switch {
	case slots <= 32<<10:
		return 22
	case slots <= 256<<10:
		return 28
	}
	return 38
}

func (a *adapt) init(subtables int) {
	a.score, a.last = make([]uint64, subtables), make([]uint64, subtables)
	a.left, a.pause = firstEpoch, 4
}

// sample takes note of a key's hash.
func (a *adapt) sample(h uint64) {
	if a.samples < maxSamples {
		a.samples++
		a.seen[h>>32&(seenBits/64-1)] |= 1 << (h >> 52 & 63)
	}
}

// forget: a subtable is gone, its number and its hits will be another's.
func (a *adapt) forget(id uint16, hits *mem.Counter) {
	a.score[id], a.last[id] = 0, 0
	move(hits, 0)
}

// think ends an epoch.
func (t *Table) think() {
	a := &t.adapt
	off := t.sort()
	if t.cache.mode == CacheAuto {
		t.choose(off)
	}
	a.lookups, a.hits, a.evict = t.stat.lookups.Load(), t.stat.cacheHits.Load(), t.cache.evict
	a.left = max(epoch, 2*t.cache.slots)
	a.samples = 0
	clear(a.seen[:])
}

// sort orders the subtables by their hits and returns what a lookup without a cache costs on average, in
// that order, for those that were found.
func (t *Table) sort() uint64 {
	a := &t.adapt
	var cost, found uint64
	for i, id := range t.order {
		hits := t.hits[id].Load()
		fresh := hits - a.last[id]
		a.last[id] = hits
		a.score[id] = a.score[id]/2 + fresh
		found += fresh
		// It changes little from one epoch to the next.
		for ; i > 0 && a.score[t.order[i-1]] < a.score[id]; i-- {
			t.order[i] = t.order[i-1]
		}
		t.order[i] = id
	}
	probe := uint64(costProbe)
	if t.cold {
		probe = costFarProbe
	}
	sum := uint64(0)
	for i, id := range t.order {
		sum += a.score[id]
		cost += a.score[id] * uint64(i+1) * probe
	}
	if found == 0 || sum == 0 {
		return 0
	}
	return cost / sum
}

// choose sets the cache's size. off is what a lookup costs without it; 0: there were none.
func (t *Table) choose(off uint64) {
	a, c := &t.adapt, &t.cache
	if off == 0 {
		return
	}
	if c.slots == 0 {
		if a.rest > 0 {
			a.rest--
		} else if len(t.order) > 1 && cost(smallSlots)*5/4 < off {
			t.setCache(smallSlots)
		}
		return
	}
	n := t.stat.lookups.Load() - a.lookups
	unknown := n - (t.stat.cacheHits.Load() - a.hits)
	on := cost(c.slots) + (off+costTeach)*unknown/max(n, 1)
	next := min(c.slots*8, c.most)
	switch {
	case (c.evict-a.evict)*16 > n && next > c.slots && cost(next) < off:
		t.setCache(next)
		a.hold = a.keep
	case a.fresh:
		a.fresh = false
	case on > off:
		t.setCache(0)
		a.rest, a.pause = a.pause, min(a.pause*2, 64)
	case a.hold > 0:
		a.hold--
	case c.slots > smallSlots && a.samples == maxSamples && a.few():
		t.setCache(smallSlots)
		a.keep = min(2*a.keep+1, 31)
	default:
		a.pause = 4
	}
}

// few tells whether the sample looks like few flows.
func (a *adapt) few() bool {
	n := 0
	for _, w := range a.seen {
		n += bits.OnesCount64(w)
	}
	return n < fewSeen
}

func (t *Table) setCache(slots int) {
	t.cache.resize(slots)
	t.adapt.fresh = true
	move(&t.stat.cacheSlots, uint64(t.cache.slots))
	t.grown()
}

// SetCache changes Config.Cache.
func (t *Table) SetCache(m CacheMode) {
	t.cache.mode = m
	switch m {
	case CacheSmall:
		t.setCache(smallSlots)
	case CacheLarge:
		t.setCache(t.cache.most)
	default:
		t.setCache(0)
	}
	t.adapt.left = firstEpoch
	t.adapt.rest = 0
}
