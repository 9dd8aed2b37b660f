package rules

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// generation is a set of flows, all of which output to one port.
func generation(n int, port uint32) []ofp.Flow {
	flows := make([]ofp.Flow, n)
	for i := range flows {
		flows[i] = ofp.Flow{Priority: uint16(i % 7), Match: inPort(uint64(i)), Actions: out(port)}
		if i%3 == 0 {
			flows[i].Match.Mask[flow.WordMeta] = 1
		}
	}
	return flows
}

// Readers must see each batch whole or not at all, whatever way it takes, while others write too.
func TestBatchesAreAtomic(t *testing.T) {
	const n = 200
	tabs := New()
	tabs.grace = 0 // so that Valid has something to say
	if _, err := tabs.Replace(generation(n, 0), Options{}); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var readers, writers sync.WaitGroup
	var decided, again atomic.Int64
	for range 2 {
		readers.Go(func() {
			var s Scratch
			var k, wc flow.Key
			for !stop.Load() {
				v := tabs.Version()
				var ports [8]int
				for i := range ports {
					k[flow.WordPort] = rand.Uint64N(n) << 32
					ports[i] = -1
					if r := tabs.Lookup(0, v, &k, &wc, &s); r != nil {
						ports[i] = int(r.Actions[0].(ofp.Output).Port)
						r.Add(1, 1, 1)
					}
				}
				if !tabs.Valid(v) {
					again.Add(1)
					continue
				}
				decided.Add(1)
				for _, p := range ports {
					if p != ports[0] || p < 0 {
						t.Errorf("version %#x: ports %v", v, ports)
						return
					}
				}
			}
		})
	}
	end := time.Now().Add(time.Second)
	more := func() bool { // a busy machine may take longer to decide anything
		return time.Now().Before(end) || decided.Load() < 100 && time.Now().Before(end.Add(time.Minute))
	}
	small := func(table uint8) {
		for i := uint64(0); more(); i++ {
			f := ofp.Flow{Table: table, Priority: 9, Match: inPort(i % 50), Actions: out(uint32(i)), Idle: 1}
			if _, err := tabs.Apply(adds([]ofp.Flow{f}), Options{Now: int64(i)}); err != nil {
				t.Error(err)
			}
			if i%64 == 0 {
				tabs.Expire(int64(i))
			}
			runtime.Gosched()
		}
	}
	writers.Go(func() { small(1) })
	for g := uint32(1); more(); g++ {
		flows := generation(n, g)
		var err error
		switch g % 3 {
		case 0:
			_, err = tabs.Apply(adds(flows), Options{})
		case 1:
			_, err = tabs.Apply(append([]ofp.FlowMod{mod(ofp.Delete, ofp.Flow{})}, adds(flows)...), Options{})
		case 2:
			_, err = tabs.Apply([]ofp.FlowMod{mod(ofp.Modify, ofp.Flow{Actions: out(g)})}, Options{})
		}
		if err != nil {
			t.Error(err)
		}
		// A refused one leaves no trace.
		bad := append(adds(generation(n/2, 1<<20)), mod(ofp.Add, ofp.Flow{Actions: []ofp.Action{ofp.Group{ID: 1}}}))
		bad[n/4].Flow.Table, bad[n/4].Flow.Flags = 0, ofp.CheckOverlap
		bad[n/4].Flow.Match = flow.Match{}
		if _, err := tabs.Apply(bad[:n/2], Options{}); err == nil {
			t.Error("overlap was not refused")
		}
	}
	writers.Wait()
	stop.Store(true)
	readers.Wait()
	if decided.Load() < 100 {
		t.Errorf("only %d decisions, %d not valid", decided.Load(), again.Load())
	}
}

// A large change and small ones that happen meanwhile must end as if they had been done one after the other, in
// the order of their versions.
func TestLargeAndSmallAreInOrder(t *testing.T) {
	met := 0
	start := time.Now()
	for round := 0; round < 30 && (time.Since(start) < 5*time.Second || met == 0); round++ {
		tabs := New()
		if _, err := tabs.Replace(generation(3000, 1), Options{}); err != nil {
			t.Fatal(err)
		}
		type done struct {
			port    uint64
			version uint64
		}
		var got []done
		var stop atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := uint64(10000); !stop.Load(); i++ {
				// Half of them are flows that the set has, too.
				p := i
				if i%2 == 0 {
					p = i % 3000
				}
				f := ofp.Flow{Priority: uint16(p % 7), Match: inPort(p), Actions: out(77), Cookie: i}
				if p%3 == 0 {
					f.Match.Mask[flow.WordMeta] = 1
				}
				ch, err := tabs.Apply(adds([]ofp.Flow{f}), Options{})
				if err != nil {
					t.Error(err)
				}
				got = append(got, done{p, ch.Version})
				time.Sleep(20 * time.Microsecond)
			}
		})
		time.Sleep(time.Millisecond)
		var ch Changed
		var err error
		switch round % 3 {
		case 0:
			ch, err = tabs.Replace(generation(3000, 2), Options{})
		case 1:
			ch, err = tabs.Replace(generation(3000, 1), Options{}) // all are kept
		case 2:
			ch, err = tabs.Apply([]ofp.FlowMod{mod(ofp.Modify, ofp.Flow{Actions: out(2)})}, Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
		stop.Store(true)
		wg.Wait()
		after := map[uint64]bool{}
		for _, d := range got {
			if d.version > ch.Version {
				after[d.port] = true
			} else if d.version&0xffffffff > 1 {
				met++
			}
		}
		seen := map[uint64]int{}
		for _, r := range tabs.Flows(nil) {
			m := r.Match()
			p := uint64(m.Key.InPort())
			seen[p]++
			port := r.Actions[0].(ofp.Output).Port
			switch {
			case after[p] && port != 77, !after[p] && port == 77:
				t.Fatalf("round %d: flow of port %d: output %d, small change came after: %v", round, p, port, after[p])
			case p >= 10000 && !after[p] && round%3 != 2:
				t.Fatalf("round %d: flow of port %d outlived Replace", round, p)
			case seen[p] > 1:
				t.Fatalf("round %d: two flows of port %d", round, p)
			}
		}
		for p := range after {
			if seen[p] == 0 {
				t.Fatalf("round %d: flow of port %d is lost", round, p)
			}
		}
		for p := range uint64(3000) {
			if seen[p] == 0 {
				t.Fatalf("round %d: flow of port %d of the set is lost", round, p)
			}
		}
		if n := len(tabs.Flows(nil)); n != tabs.Rules() {
			t.Fatalf("%d rules, counted %d", n, tabs.Rules())
		}
		checkCounted(t, tabs)
	}
	if met == 0 {
		t.Error("no small change met a large one")
	}
}

// A learn action must not wait for a bulk load, but only for a piece of it.
func TestSmallDoesNotWait(t *testing.T) {
	tabs := New()
	mods := acl(100000, 20)
	loaded := make(chan error)
	begin := time.Now()
	go func() {
		_, err := tabs.Apply(mods, Options{})
		loaded <- err
	}()
	var all []time.Duration
	for i := uint64(0); ; i++ {
		select {
		case err := <-loaded:
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(all)
			pieces := time.Since(begin) / (100000 / piece)
			t.Logf("a piece took %v; %d small changes: median %v, 95 %% %v, slowest %v", pieces, len(all),
				all[len(all)/2], all[len(all)*95/100], all[len(all)-1])
			if len(all) < 100 || all[len(all)/2] > 3*pieces {
				t.Errorf("small changes take longer than pieces of a large one")
			}
			return
		default:
		}
		m := adds([]ofp.Flow{{Table: 1, Match: inPort(i), Actions: out(1)}})
		start := time.Now()
		if _, err := tabs.Apply(m, Options{}); err != nil {
			t.Fatal(err)
		}
		all = append(all, time.Since(start))
		time.Sleep(200 * time.Microsecond)
	}
}
