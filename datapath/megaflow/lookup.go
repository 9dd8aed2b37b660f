package megaflow

import "github.com/gvswitch/gvswitch/flow"

// Lookup sets out[i] to the megaflow that keys[i] belongs to, 0 if there is none, and returns
// how many there were none for. At most Batch keys, which are zero behind their base words; out
// is not shorter than keys.
func (t *Table) Lookup(keys []flow.Key, out []Ref) int { return t.lookup(keys, out, false) }

func (t *Table) lookup(keys []flow.Key, out []Ref, full bool) int {
	n := len(keys)
	out = out[:n]
	clear(out)
	t.stat.lookups.Add(uint64(n))
	if t.adapt.left -= n; t.adapt.left < 0 {
		t.think()
	}
	if t.cache.base == 0 {
		for i := range t.pending[:n] {
			t.pending[i] = uint8(i)
		}
		left := t.search(keys, out, n)
		t.stat.misses.Add(uint64(left))
		return left
	}
	unknown := t.ask(keys, out, full)
	t.stat.cacheHits.Add(uint64(n - unknown))
	t.adapt.sample(t.cacheHash[0])
	if unknown == 0 {
		return 0
	}
	copy(t.missed[:unknown], t.pending[:unknown])
	left := t.search(keys, out, unknown)
	t.stat.misses.Add(uint64(left))
	if left < unknown {
		t.teach(out, unknown)
	}
	return left
}

// Find is the megaflow of one key, 0 if there is none. It leaves cache and counters alone.
func (t *Table) Find(k *flow.Key) Ref {
	for _, id := range t.order {
		s := &t.subs[id]
		if r := t.resolve(s, t.hashKey(s, k), k); r != 0 {
			return r
		}
	}
	return 0
}
