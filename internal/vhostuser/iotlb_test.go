package vhostuser

import (
	"math/rand/v2"
	"testing"
)

// The table answers as a list of what each address was last told does.
func TestIOTLBModel(t *testing.T) {
	const space = 200
	type told struct {
		host uintptr
		perm Perm
	}
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(1, seed))
		var tlb IOTLB
		var model [space]told
		for step := range 300 {
			iova := rnd.Uint64N(space)
			size := min(1+rnd.Uint64N(20), space-iova)
			if rnd.IntN(3) == 0 {
				if had := tlb.Invalidate(iova, size); had != anyTold(model[iova:iova+size], func(x told) bool { return x.perm != 0 }) {
					t.Fatalf("seed %d step %d: Invalidate says %v", seed, step, had)
				}
				clear(model[iova : iova+size])
			} else {
				// Few places, so that neighbours fit together now and then.
				host, perm := uintptr(1000*(1+rnd.IntN(2)))+uintptr(iova), Perm(rnd.IntN(4))
				tlb.Update(iova, size, host, perm)
				for i := range size {
					model[iova+i] = told{host + uintptr(i), perm}
				}
			}
			for _, perm := range []Perm{PermRead, PermWrite} {
				m := tlb.Map(perm)
				for a, x := range model {
					host, ok := m.Translate(uint64(a), 1)
					if want := x.perm&perm != 0; ok != want || ok && host != x.host {
						t.Fatalf("seed %d step %d: %d for %d is %d, %v; want %+v", seed, step, a, perm, host, ok, x)
					}
				}
			}
			for i := 1; i < len(tlb.pieces); i++ {
				if tlb.pieces[i-1].before(&tlb.pieces[i]) {
					t.Fatalf("seed %d step %d: pieces %d and %d should be one", seed, step, i-1, i)
				}
			}
		}
	}
}

func anyTold[T any](list []T, is func(T) bool) bool {
	for _, x := range list {
		if is(x) {
			return true
		}
	}
	return false
}

// Whatever comes, the table stays small, and what came last is in it.
func TestIOTLBBounded(t *testing.T) {
	var tlb IOTLB
	for i := range uint64(3 * MaxIOTLB) {
		tlb.Update(i*3, 1, uintptr(i*7), PermRead)
		if tlb.Len() > MaxIOTLB {
			t.Fatalf("%d pieces", tlb.Len())
		}
		if i%1000 != 0 {
			continue
		}
		m := tlb.Map(PermRead)
		for j := range min(i+1, MaxIOTLB) {
			if _, ok := m.Translate((i-j)*3, 1); !ok {
				t.Fatalf("the one %d before the last is gone", j)
			}
		}
	}
	// One large piece is cut by an invalidation in its middle, in a full table.
	tlb.Clear()
	tlb.Update(0, 1<<40, 0x1000, PermRead|PermWrite)
	for i := range uint64(2 * MaxIOTLB) {
		tlb.Invalidate(i*4096+1, 1)
		if tlb.Len() > MaxIOTLB {
			t.Fatalf("%d pieces", tlb.Len())
		}
	}
	if !tlb.Invalidate(0, 0) || tlb.Len() != 0 {
		t.Errorf("%d pieces after everything was invalidated", tlb.Len())
	}
}

// The ends of the address space.
func TestIOTLBEnds(t *testing.T) {
	var tlb IOTLB
	tlb.Update(^uint64(0), 1, 7, PermRead)
	tlb.Update(0, 1, 8, PermRead)
	if tlb.Len() != 2 {
		t.Errorf("%d pieces: the last address has no neighbour", tlb.Len())
	}
	if host, ok := tlb.Map(PermRead).Translate(^uint64(0), 1); !ok || host != 7 {
		t.Errorf("last address: %d, %v", host, ok)
	}
	if !tlb.Invalidate(1, ^uint64(0)) || tlb.Len() != 1 {
		t.Errorf("%d pieces", tlb.Len())
	}
	tlb.Update(5, 1, 9, PermRead)
	tlb.Invalidate(3, ^uint64(0)) // wraps: all that follows
	if _, ok := tlb.Map(PermRead).Translate(0, 1); !ok || tlb.Len() != 1 {
		t.Errorf("%d pieces", tlb.Len())
	}
}
