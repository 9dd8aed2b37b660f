package megaflow

import (
	"errors"
	"testing"

	"github.com/gvswitch/gvswitch/flow"
)

// FuzzOperations runs a sequence of operations on a table with few masks and a small limit beside a
// model. Three bytes are an operation: what, which mask, which key.
func FuzzOperations(f *testing.F) {
	f.Add([]byte{0, 1, 1, 0, 2, 2, 2, 1, 1, 1, 0, 0, 2, 1, 1})
	f.Add([]byte{0, 9, 1, 0, 10, 2, 0, 11, 3, 0, 12, 4, 0, 13, 5, 3, 0, 0, 2, 13, 5})
	f.Add([]byte{4, 2, 0, 0, 1, 7, 2, 1, 7, 2, 1, 7, 1, 0, 0, 2, 1, 7, 4, 0, 0, 2, 1, 7})
	f.Fuzz(func(t *testing.T, ops []byte) {
		table := newTable(t, Config{Limit: 100, Masks: 6, CacheSlots: smallSlots})
		type entry struct {
			key, mask flow.Key
			value     uint32
		}
		entries := map[Ref]entry{}
		keys, out := make([]flow.Key, Batch), make([]Ref, Batch)
		for n := 0; len(ops) >= 3; n++ {
			op, a, b := ops[0], ops[1], ops[2]
			ops = ops[3:]
			// Mask a is of the megaflows of port a.
			var key, mask flow.Key
			key[flow.WordPort] = uint64(a)
			mask[flow.WordPort] = 0xff
			for w := 1; w <= int(a%9); w++ {
				key[w] = uint64(b) << w
				mask[w] = 0x7 << w
			}
			switch op % 5 {
			case 0:
				r, err := table.Insert(&key, &mask, uint32(n))
				_, there := entries[r]
				switch {
				case err == nil && (r == 0 || there || len(entries) >= 100):
					t.Fatalf("Insert: %d, %v, %d entries", r, there, len(entries))
				case err == nil:
					table.Flow(r, &keys[0], &mask)
					entries[r] = entry{keys[0], mask, uint32(n)}
				case errors.Is(err, ErrExists) != there || errors.Is(err, ErrLimit) && len(entries) < 100:
					t.Fatalf("Insert: %d, %v, %v", r, err, there)
				}
			case 1:
				if r := table.Find(&key); r != 0 {
					table.Remove(r)
					delete(entries, r)
				}
			case 2:
				keys[0] = key
				table.lookup(keys[:1], out[:1], true)
				want := Ref(0)
				for r, e := range entries {
					same := true
					for i := range key {
						same = same && (key[i]^e.key[i])&e.mask[i] == 0
					}
					if same {
						want = r
					}
				}
				// An exact megaflow and one of its mask may both be there.
				if (want == 0) != (out[0] == 0) || want != 0 && entries[out[0]].key[flow.WordPort]&0xff != uint64(a) {
					t.Fatalf("Lookup: %d, want %d", out[0], want)
				}
				if want != 0 && table.Value(out[0]) != entries[out[0]].value {
					t.Fatal("Lookup: the value is another's")
				}
			case 3:
				n, next := table.Scan(Ref(a), out)
				for _, r := range out[:n] {
					if _, ok := entries[r]; !ok {
						t.Fatalf("Scan: %d is not there", r)
					}
				}
				_ = next
			case 4:
				table.SetCache(CacheMode(a % 4))
			}
			if table.Len() != len(entries) {
				t.Fatalf("%d megaflows, want %d", table.Len(), len(entries))
			}
		}
	})
}
