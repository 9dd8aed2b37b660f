package gen

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every place has its values, each value one place, and places are narrow.
func TestPlaces(t *testing.T) {
	last := -1
	for e := range 33 {
		for _, d := range []int64{-2, -1, 0, 1, 2, 1 << e / 3} {
			v := int64(1)<<e + d
			if v < 0 || v > math.MaxUint32 {
				continue
			}
			p := place(uint32(v))
			if p < 0 || p >= histPlaces {
				t.Fatalf("%d at place %d", v, p)
			}
			m := middle(p)
			if place(m) != p || math.Abs(float64(m)-float64(v)) > float64(v)/256 {
				t.Errorf("%d at place %d, whose middle is %d", v, p, m)
			}
		}
	}
	for v := uint32(0); v < 1<<16; v++ {
		if p := place(v); p != last && p != last+1 {
			t.Fatalf("%d at place %d after %d", v, p, last)
		} else {
			last = p
		}
	}
	if place(math.MaxUint32) != histPlaces-1 {
		t.Error("the last place is not the greatest value's")
	}
}

// Percentiles are those of the sorted values, to one in 256.
func TestPercentiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 10, 999, 1000, 50_000} {
		for name, draw := range map[string]func() uint32{
			"small":  func() uint32 { return r.Uint32N(300) },
			"wide":   func() uint32 { return r.Uint32() >> r.Uint32N(32) },
			"normal": func() uint32 { return uint32(max(0, 20_000+r.NormFloat64()*5000)) },
		} {
			var h Histogram
			var parts [2]Histogram
			var all []uint32
			for i := range n {
				v := draw()
				all = append(all, v)
				h.Add(v)
				parts[i%2].Add(v)
			}
			slices.Sort(all)
			parts[0].Merge(&parts[1])
			if parts[0] != h {
				t.Fatalf("%s, %d: merged parts are not the whole", name, n)
			}
			for _, p := range []float64{0, 0.1, 0.5, 0.9, 0.99, 0.999, 1} {
				want := all[max(int(math.Ceil(p*float64(n)))-1, 0)]
				if got := h.Percentile(p); math.Abs(float64(got)-float64(want)) > float64(want)/256 {
					t.Errorf("%s, %d values: %v is %d, want %d", name, n, p, got, want)
				}
			}
			if h.Max() != all[n-1] || h.N() != uint64(n) {
				t.Errorf("%s: %d values, at most %d", name, h.N(), h.Max())
			}
		}
	}
	var empty Histogram
	if empty.Percentile(.5) != 0 {
		t.Error("an empty one has a middle")
	}
}
