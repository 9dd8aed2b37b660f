package datapath

import (
	"math/rand/v2"
	"testing"

	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/xlate"
)

// However many programs there are, a translation is compared with few of them, and each is found again until
// it is released.
func TestProgramsFound(t *testing.T) {
	var s programs
	s.init()
	r := rand.New(rand.NewPCG(1, 2))
	translation := func(v uint64) *xlate.Result {
		return &xlate.Result{Actions: []odp.Action{{Op: odp.Output, Value: v}}}
	}
	known := map[uint64]int32{}
	check := func() {
		t.Helper()
		longest, all := 0, 0
		for i := range s.heads.n {
			n := 0
			for p := *s.heads.at(i); p != 0; p = s.all[p].next {
				n++
			}
			longest = max(longest, n)
			all += n
		}
		if all != len(known) || longest > 12 {
			t.Fatalf("%d programs, %d in chains, %d of them in one", len(known), all, longest)
		}
		for v, want := range known {
			if n := s.intern(translation(v)); n != want {
				t.Fatalf("program %d is %d", want, n)
			}
			s.release(want)
		}
	}
	for _, step := range []int{10, 5_000, 40_000} {
		for len(known) < step {
			v := r.Uint64()
			known[v] = s.intern(translation(v))
		}
		check()
	}
	for v, n := range known {
		if r.IntN(10) > 0 {
			s.release(n)
			delete(known, v)
		}
	}
	check()
}
