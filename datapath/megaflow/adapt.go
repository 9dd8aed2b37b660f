package megaflow

import "github.com/gvswitch/gvswitch/internal/mem"

type adapt struct {
	left  int
	score []uint64
	last  []uint64
}

func (a *adapt) init(n int) { a.score = make([]uint64, n); a.last = make([]uint64, n) }

func (a *adapt) sample(h uint64) {}

func (a *adapt) forget(id uint16, hits *mem.Counter) { a.score[id] = 0; move(hits, 0); a.last[id] = 0 }

func (t *Table) think() { t.adapt.left = 1 << 16 }

// SetCache changes Config.Cache.
func (t *Table) SetCache(m CacheMode) {
	t.cache.mode = m
	switch m {
	case CacheOff, CacheAuto:
		t.cache.resize(0)
	case CacheSmall:
		t.cache.resize(smallSlots)
	case CacheLarge:
		t.cache.resize(t.cache.most)
	}
	move(&t.stat.cacheSlots, uint64(t.cache.slots))
}
