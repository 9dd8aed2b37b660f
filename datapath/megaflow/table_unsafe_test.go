package megaflow

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/gvswitch/gvswitch/flow"
)

// numbered is the key of flow i, and the mask that tells it from others.
func numbered(i int) (key, mask flow.Key) {
	key[flow.WordPort] = 1 << 32
	key[flow.WordTP] = uint64(i) << 16
	mask[flow.WordPort] = 0xffffffff << 32
	mask[flow.WordTP] = ^uint64(0)
	return key, mask
}

func insert(t *testing.T, table *Table, key, mask *flow.Key, value uint32) Ref {
	t.Helper()
	r, err := table.Insert(key, mask, value)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{{Limit: -1}, {Masks: -1}, {Masks: MaxMasks + 1}, {CacheSlots: -1}, {CacheSlots: 1<<26 + 1}} {
		if table, err := New(c); err == nil {
			table.Close()
			t.Errorf("%+v accepted", c)
		}
	}
	if unsafe.Sizeof(Stats{}) != statsBytes {
		t.Errorf("Stats has %d bytes", unsafe.Sizeof(Stats{}))
	}
}

// No insertion takes long, everything is found while it grows, and what is removed is used again.
func TestGrow(t *testing.T) {
	const n = 300_000 / scale
	table := newTable(t, Config{Limit: n})
	refs := make([]Ref, n)
	var worst time.Duration
	moved := 0
	for i := range n {
		key, mask := numbered(i)
		start := time.Now()
		refs[i] = insert(t, table, &key, &mask, uint32(i))
		d := time.Since(start)
		worst = max(worst, d)
		moved = max(moved, len(table.moving))
		if i%1000 == 0 {
			j := rand.IntN(i + 1)
			key, _ = numbered(j)
			if r := table.Find(&key); r != refs[j] {
				t.Fatalf("flow %d of %d is %d, want %d", j, i, r, refs[j])
			}
		}
	}
	t.Logf("the longest insertion took %v", worst)
	// The machine itself stalls a thread now and then; what counts is the work.
	if moved > 64 {
		t.Errorf("an insertion moved %d megaflows", moved)
	}
	for i := range n {
		key, _ := numbered(i)
		if table.Find(&key) != refs[i] || table.Value(refs[i]) != uint32(i) {
			t.Fatalf("flow %d is lost", i)
		}
	}
	key, mask := numbered(n)
	if _, err := table.Insert(&key, &mask, 0); !errors.Is(err, ErrLimit) {
		t.Errorf("one above the limit: %v", err)
	}
	table.SetLimit(n + 1)
	table.Remove(insert(t, table, &key, &mask, 0))

	before := table.Counters().Memory
	for i := range n {
		table.Remove(refs[i])
	}
	if table.Counters().Masks != 0 || table.Len() != 0 {
		t.Error("the table is not empty")
	}
	for i := range n {
		key, mask := numbered(i)
		r := insert(t, table, &key, &mask, 7)
		if s := table.Stats(r); s.Packets.Load() != 0 {
			t.Fatal("statistics of another megaflow")
		}
		table.Stats(r).Touch(1, 1, 1, 1)
	}
	if after := table.Counters().Memory; after > before+before/8 {
		t.Errorf("memory grew from %d to %d although all of it was free", before, after)
	}
}

// With one mask too many, a packet's own key is what is kept: right for it, and for no other.
func TestMaskLimit(t *testing.T) {
	table := newTable(t, Config{Masks: 4})
	for i := range 40 {
		var key, mask flow.Key
		key[flow.WordPort] = uint64(i+1) << 32
		key[flow.WordTP] = 7
		mask[flow.WordPort] = 0xffffffff << 32
		mask[flow.WordIPSrc] = 1 << i
		if i >= 30 {
			mask[flow.WordMark] = 1 << i
		}
		insert(t, table, &key, &mask, uint32(i))
		other := key
		other[flow.WordTP] = 8
		if r := table.Find(&key); r == 0 || table.Value(r) != uint32(i) {
			t.Fatalf("flow %d is not found", i)
		}
		if r := table.Find(&other); (r != 0) != (i < 4) {
			t.Fatalf("another packet like flow %d: found is %v", i, r != 0)
		}
		if _, err := table.Insert(&key, &mask, 0); !errors.Is(err, ErrExists) {
			t.Fatalf("flow %d again: %v", i, err)
		}
	}
	if c := table.Counters(); c.Masks != 6 || c.Overflows != 36 || c.Entries != 40 {
		t.Errorf("%+v", c)
	}
	// The masks of OpenFlow's registers are none of a datapath's.
	var key, mask flow.Key
	mask[flow.WordReg] = 1
	if _, err := table.Insert(&key, &mask, 0); err != nil {
		t.Error(err)
	}
}

// A key behind the base counts, and all wildcards match all.
func TestWords(t *testing.T) {
	table := newTable(t, Config{Cache: CacheSmall})
	var key, mask flow.Key
	all := insert(t, table, &key, &mask, 1)
	keys, out := make([]flow.Key, 1), make([]Ref, 1)
	keys[0][3] = 99
	if table.Lookup(keys, out); out[0] != all {
		t.Errorf("all wildcards: %d", out[0])
	}
	table.Remove(all)
	if table.Lookup(keys, out); out[0] != 0 {
		t.Errorf("removed, but still in the cache: %d", out[0])
	}
	for i := range flow.PacketWords {
		mask[i] = ^uint64(0)
		key[i] = uint64(i)
	}
	r := insert(t, table, &key, &mask, 2)
	for range 2 {
		for i := range flow.PacketWords {
			keys[0] = key
			if table.lookup(keys, out, true); out[0] != r {
				t.Errorf("got %d", out[0])
			}
			keys[0][i] ^= 1 << 63
			if table.lookup(keys, out, true); out[0] != 0 {
				t.Errorf("word %d does not count", i)
			}
		}
	}
}

// Neither lookups nor changes allocate on the Go heap.
func TestNoAllocation(t *testing.T) {
	for name, mode := range modes {
		table := newTable(t, Config{Cache: mode})
		keys, out := make([]flow.Key, Batch), make([]Ref, Batch)
		for i := range 2000 {
			key, mask := numbered(i)
			mask[flow.WordDst] = uint64(i&7) << 16
			key[flow.WordDst] = uint64(i&7) << 16
			insert(t, table, &key, &mask, 0)
			keys[i%Batch] = key
		}
		if n := testing.AllocsPerRun(1000, func() {
			table.Lookup(keys, out)
			table.lookup(keys, out, true)
			key, mask := numbered(1 << 20)
			r, _ := table.Insert(&key, &mask, 1)
			table.Remove(r)
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// The subtable that is asked first is that with most hits; the cache is as the traffic needs it.
func TestAdapts(t *testing.T) {
	if scale > 1 {
		return // It is about one goroutine, and long.
	}
	for _, c := range []struct {
		name         string
		masks, flows int
		least, most  uint64 // slots
	}{
		{"one mask", 1, 5000, 0, 0},
		{"few flows", 20, 1000, smallSlots, smallSlots},
		{"more flows", 20, 16000, 8 * smallSlots, 64 * smallSlots},
		{"many flows", 20, 100_000, 64 * smallSlots, DefaultCacheSlots},
	} {
		table := newTable(t, Config{})
		l := load{flows: c.flows, megaflows: c.flows, masks: c.masks}
		fill := func(run int) {
			keys, out := make([]flow.Key, Batch), make([]Ref, Batch)
			for range run / Batch {
				for i := range keys {
					keys[i] = l.template()
					l.set(&keys[i], rand.IntN(l.flows))
				}
				table.Lookup(keys, out)
			}
		}
		for m := range l.megaflows {
			k, mask := l.template(), l.mask(m%l.masks)
			l.set(&k, m)
			insert(t, table, &k, &mask, 0)
		}
		fill(2_000_000)
		if n := table.Counters().CacheSlots; n < c.least || n > c.most {
			t.Errorf("%s: %d slots, want %d to %d", c.name, n, c.least, c.most)
		}
		// All traffic on the last mask: it becomes the first, and the cache goes.
		l.flows = 1
		epochs := 3
		for range epochs {
			fill(int(table.Counters().CacheSlots)*2 + epoch)
		}
		if n := table.Counters().CacheSlots; n > smallSlots {
			t.Errorf("%s, then one flow: %d slots", c.name, n)
		}
		if key := l.template(); len(table.order) > 1 {
			l.set(&key, 0)
			if r := table.Find(&key); subOf(table.head(r)) != table.order[0] {
				t.Errorf("%s: the busiest subtable is not the first", c.name)
			}
		}
	}
}

// Other goroutines read counters and masks while the owner works.
func TestReaders(t *testing.T) {
	table := newTable(t, Config{Masks: 8})
	var stop atomic.Bool
	var wg sync.WaitGroup
	var met atomic.Int64
	for range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for !stop.Load() {
				if c := table.Counters(); c.MaskHits > c.Lookups || c.Masks > 10 {
					t.Errorf("%+v", c)
				}
				for _, u := range table.Subtables(nil) {
					for _, m := range u.Mask {
						if m != 0 && m != ^uint64(0) {
							t.Errorf("a mask has %x", m)
						}
					}
					met.Add(1)
				}
			}
		}()
	}
	var live []Ref
	keys, out := make([]flow.Key, 1), make([]Ref, 1)
	rng := rand.New(rand.NewPCG(3, 4))
	start := time.Now()
	for i := 0; i < 60_000 && time.Since(start) < 2*time.Second; i++ {
		v := uint64(i)
		var key, mask flow.Key
		words := int(v%12) + 1
		if words > 8 {
			continue // would be made exact
		}
		for w := range words {
			key[w], mask[w] = v, ^uint64(0)
		}
		r := insert(t, table, &key, &mask, uint32(v))
		live = append(live, r)
		keys[0] = key
		table.Lookup(keys, out)
		table.Stats(out[0]).Touch(1, 64, uint32(i), 0)
		for len(live) > 40 || len(live) > 0 && rng.IntN(2000) == 0 {
			j := rng.IntN(len(live))
			table.Remove(live[j])
			live[j] = live[len(live)-1]
			live = live[:len(live)-1]
		}
	}
	for met.Load() == 0 && !t.Failed() {
		time.Sleep(time.Millisecond)
	}
	stop.Store(true)
	wg.Wait()
}
