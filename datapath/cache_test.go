package datapath

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// B78: whatever the configuration and the traffic, a switch with its cache, taking
// frames by the burst, sends what one without a cache sends that takes them
// one by one.
func TestCacheChangesNothing(t *testing.T) {
	specs := []string{
		"trunk", "access 5", "access 6", "native-tagged 5", "native-untagged 6", "trunk 5,6", "trunk 0,7",
		"trunk prio=if-nonzero", "access 5 prio=always", "native-untagged 5 5,6 prio=if-nonzero",
	}
	tags := []string{"-", "-", "-", "5", "6", "7", "0/3", "5/2", "ad:6", "5 6", "ad:5 0/1"}
	for seed := range uint64(15) {
		rnd := rand.New(rand.NewPCG(seed, 78))
		conf := make([]PortConfig, 5)
		for i := range conf {
			conf[i] = portSpec(specs[rnd.IntN(len(specs))])
			conf[i].Protected, conf[i].NoFlood = rnd.IntN(4) == 0, rnd.IntN(8) == 0
		}
		type step struct {
			port  int
			frame []byte
			warp  int64
			alone bool // in its burst: what moves a host is seen by the next burst
		}
		var steps []step
		at := map[string]int{}
		for range 2000 {
			f := tagSpec(rnd.IntN(8), 1+rnd.IntN(8), tags[rnd.IntN(len(tags))])
			switch rnd.IntN(40) {
			case 0:
				copy(f, mac(-1))
			case 1:
				f[15]++ // another class: the same decision
			case 2:
				f = f[:14+rnd.IntN(6)]
			case 3:
				copy(f, []byte{1, 0x80, 0xc2, 0, 0, byte(rnd.IntN(32))})
			}
			s := step{port: rnd.IntN(len(conf)), frame: f}
			if rnd.IntN(50) == 0 {
				s.warp = int64(rnd.IntN(400))
			}
			if src := string(f[6:12]); at[src] != s.port+1 {
				s.alone, at[src] = true, s.port+1
			}
			steps = append(steps, s)
		}
		run := func(cached bool) (out [][][]byte) {
			d, b, th := bare(t)
			d.clock.mul = 0 // time stands still but for warp
			var devs []*fake
			for i, c := range conf {
				dev := newFake(t, 1)
				devs = append(devs, dev)
				plugDev(t, b, fmt.Sprint("p", i), c, dev)
			}
			for i, s := range steps {
				d.clock.warp.Add(s.warp)
				devs[s.port].send(s.frame)
				if !cached {
					*th.cache = cache{}
				} else if i+1 < len(steps) && steps[i+1].port == s.port && steps[i+1].warp == 0 && !steps[i+1].alone && !s.alone {
					continue // part of a burst
				}
				th.iterate()
				if d.loss.pending.Load() {
					d.loss.now() // as if minFlush had passed
				}
			}
			for _, dev := range devs {
				out = append(out, dev.sent())
			}
			return out
		}
		want, got := run(false), run(true)
		for i := range want {
			if len(want[i]) != len(got[i]) {
				t.Errorf("seed %d, port %d: %d frames with a cache, %d without", seed, i, len(got[i]), len(want[i]))
				continue
			}
			for k := range want[i] {
				if !bytes.Equal(want[i][k], got[i][k]) {
					t.Errorf("seed %d, port %d, frame %d: %x with a cache, %x without", seed, i, k, got[i][k], want[i][k])
					break
				}
			}
		}
	}
}
