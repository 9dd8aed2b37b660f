package megaflow

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/gvswitch/gvswitch/flow"
)

// model is what a Table has to say: a list of disjoint megaflows, looked through.
type model struct {
	flows map[Ref]*modelFlow
}

type modelFlow struct {
	key, mask flow.Key
	value     uint32
}

func (m *model) find(k *flow.Key) Ref {
	for r, f := range m.flows {
		hit := true
		for i := range flow.PacketWords {
			if (k[i]^f.key[i])&f.mask[i] != 0 {
				hit = false
				break
			}
		}
		if hit {
			return r
		}
	}
	return 0
}

// A kind is a mask and what makes its megaflows disjoint from those of others:
// all masks look at in_port, and each kind has its own.
func kind(n int, rng *rand.Rand, words, from, to int) (mask flow.Key) {
	mask[flow.WordPort] = 0xffffffff << 32
	for range words - 1 {
		mask[from+rng.IntN(to-from)] |= rng.Uint64() & rng.Uint64()
	}
	return mask
}

func keyOf(n int, rng *rand.Rand, full bool) (k flow.Key) {
	k[flow.WordPort] = uint64(n+1) << 32
	to := flow.BaseWords
	if full {
		to = flow.PacketWords
	}
	for i := 1; i < to; i++ {
		k[i] = rng.Uint64() & 0x0101010101010101
	}
	return k
}

func newTable(t testing.TB, c Config) *Table {
	t.Helper()
	table, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(table.Close)
	return table
}

var modes = map[string]CacheMode{"auto": CacheAuto, "off": CacheOff, "small": CacheSmall, "large": CacheLarge}

// Random megaflows come and go; each lookup says what the model says, in each mode, also right after
// a megaflow went that the cache knew.
func TestAgainstModel(t *testing.T) {
	for name, mode := range modes {
		for _, full := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(1, uint64(mode)))
			table := newTable(t, Config{Cache: mode, CacheSlots: 8192})
			m := model{flows: map[Ref]*modelFlow{}}
			var masks []flow.Key
			for n := range 40 {
				to := flow.BaseWords
				if full {
					to = flow.PacketWords
				}
				masks = append(masks, kind(n, rng, 1+n%20, 1, to))
			}
			keys := make([]flow.Key, Batch)
			out := make([]Ref, Batch)
			var live []Ref
			for round := range 3000 / scale {
				n := rng.IntN(len(masks))
				key := keyOf(n, rng, full)
				want := m.find(&key)
				r, err := table.Insert(&key, &masks[n], uint32(round))
				switch {
				case want != 0 && (!errors.Is(err, ErrExists) || r != want):
					t.Fatalf("%s, round %d: Insert of what is there: %d, %v; want %d", name, round, r, err, want)
				case want == 0 && (err != nil || r == 0 || m.flows[r] != nil):
					t.Fatalf("%s, round %d: Insert: %d, %v", name, round, r, err)
				case want == 0:
					m.flows[r] = &modelFlow{key, masks[n], uint32(round)}
					live = append(live, r)
				}
				if rng.IntN(3) == 0 {
					i := rng.IntN(len(live))
					table.Remove(live[i])
					delete(m.flows, live[i])
					live[i] = live[len(live)-1]
					live = live[:len(live)-1]
				}
				if round%20 != 0 {
					continue
				}
				for i := range keys {
					if i%3 == 0 || len(live) == 0 {
						keys[i] = keyOf(rng.IntN(len(masks)), rng, full)
						continue
					}
					f := m.flows[live[rng.IntN(len(live))]]
					keys[i] = keyOf(0, rng, full)
					for w := range flow.PacketWords {
						keys[i][w] = keys[i][w]&^f.mask[w] | f.key[w]&f.mask[w]
					}
				}
				for range 2 {
					miss := 0
					if full {
						miss = table.lookup(keys, out, true)
					} else {
						miss = table.Lookup(keys, out)
					}
					for i := range keys {
						want := m.find(&keys[i])
						if out[i] != want || table.Find(&keys[i]) != want {
							t.Fatalf("%s, round %d, key %d: got %d, want %d", name, round, i, out[i], want)
						}
						if want == 0 {
							miss--
						} else if table.Value(want) != m.flows[want].value {
							t.Fatalf("%s: value of %d is wrong", name, want)
						}
					}
					if miss != 0 {
						t.Fatalf("%s: number of misses is off by %d", name, miss)
					}
				}
			}
			check(t, table, &m)
			for _, r := range live {
				table.Remove(r)
			}
			if c := table.Counters(); c.Entries != 0 || c.Masks != 0 || table.Len() != 0 {
				t.Errorf("%s: something is left: %+v", name, c)
			}
		}
	}
}

// check compares Scan, Flow and Subtables with the model.
func check(t *testing.T, table *Table, m *model) {
	t.Helper()
	seen := map[Ref]bool{}
	out := make([]Ref, 7)
	for from := Ref(0); ; {
		n, next := table.Scan(from, out)
		for _, r := range out[:n] {
			if seen[r] || m.flows[r] == nil {
				t.Fatalf("Scan: %d twice, or not there", r)
			}
			seen[r] = true
			var key, mask flow.Key
			table.Flow(r, &key, &mask)
			f := m.flows[r]
			for i := range key {
				if mask[i] != f.mask[i] || key[i] != f.key[i]&f.mask[i] {
					t.Fatalf("Flow of %d: word %d is %x/%x", r, i, key[i], mask[i])
				}
			}
		}
		if from = next; next == 0 {
			break
		}
	}
	if len(seen) != len(m.flows) {
		t.Errorf("Scan met %d of %d", len(seen), len(m.flows))
	}
	var entries uint64
	for _, s := range table.Subtables(nil) {
		entries += s.Entries
	}
	if entries != uint64(len(m.flows)) || table.Counters().Entries != entries {
		t.Errorf("subtables have %d, want %d", entries, len(m.flows))
	}
}
