package megaflow

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/flow"
)

// load is traffic: flows, spread over megaflows, spread over masks of six words. What a packet's key
// is takes some nanoseconds to make; BenchmarkKeys says how many.
type load struct {
	name             string
	flows, megaflows int
	masks            int
	cache            CacheMode
}

func (l load) set(k *flow.Key, i int) {
	m := i % l.megaflows
	k[flow.WordPort] = uint64(m%l.masks+1) << 32
	k[flow.WordIPSrc] = uint64(0x0a000000+m/l.masks)<<32 | 0xc0a80001
	k[flow.WordTP] = uint64(i/l.megaflows%60000+1024)<<48 | uint64(m%1000)<<32 | 0x10<<16
}

func (l load) template() (k flow.Key) {
	k[flow.WordDst] = 0x020000000001 << 16
	k[flow.WordSrc] = 0x020000000002<<16 | 0x0800
	k[flow.WordIP] = 6<<56 | 64<<40
	return k
}

func (l load) mask(n int) (k flow.Key) {
	k[flow.WordPort] = 0xffffffff << 32
	k[flow.WordSrc] = 0xffff
	k[flow.WordVLAN] = 0xffff << 48
	k[flow.WordIP] = 0xff0000ff << 32
	k[flow.WordIPSrc] = 0xffffffff<<32 | uint64(n&0xff)
	k[flow.WordTP] = uint64(0xffff|n>>8) << 32
	return k
}

func (l load) fill(b testing.TB) *Table {
	t := newTable(b, Config{Limit: 2 << 20, Cache: l.cache})
	k := l.template()
	for m := range l.megaflows {
		l.set(&k, m)
		mask := l.mask(m % l.masks)
		if _, err := t.Insert(&k, &mask, uint32(m)); err != nil {
			b.Fatal(err)
		}
	}
	return t
}

// threadTime is the processor time of the calling thread in nanoseconds: what a benchmark took
// without what others on the machine took from it.
func threadTime(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// packets is what differs in the keys of a million packets: all flows in random order, read from
// memory in sequence.
func (l load) packets() [][3]uint64 {
	rng := rand.New(rand.NewPCG(1, 2))
	p := make([][3]uint64, 0, 1<<20)
	for len(p) < 1<<20 {
		for _, i := range rng.Perm(l.flows) {
			var k flow.Key
			l.set(&k, i)
			p = append(p, [3]uint64{k[flow.WordPort], k[flow.WordIPSrc], k[flow.WordTP]})
		}
	}
	return p
}

var loads = []load{
	{"1mask-1000", 1000, 1000, 1, CacheAuto},
	{"few-1k-flows", 1000, 40, 4, CacheAuto},
	{"few-1M-flows", 1000000, 40, 4, CacheAuto},
	{"1-megaflow-1M-flows", 1000000, 1, 1, CacheAuto},
	{"20masks-10k", 10000, 10000, 20, CacheAuto},
	{"64masks-1k", 1000, 1000, 64, CacheAuto},
	{"64masks-100k", 100000, 100000, 64, CacheAuto},
	{"1M-megaflows", 1000000, 1000000, 1, CacheAuto},
	{"8masks-1M", 1000000, 1000000, 8, CacheAuto},
}

// One operation is one packet: its key hashed, found, counted.
func BenchmarkLookup(b *testing.B) {
	for _, l := range loads {
		for _, mode := range []string{"auto", "off", "large"} {
			l.cache = modes[mode]
			b.Run(fmt.Sprintf("%s/%s", l.name, mode), func(b *testing.B) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				t := l.fill(b)
				keys := make([]flow.Key, Batch)
				out := make([]Ref, Batch)
				for i := range keys {
					keys[i] = l.template()
				}
				packets := l.packets()
				at := 0
				run := func(n int) {
					for i := 0; i < n; i += Batch {
						for j := range keys {
							p := &packets[at+j]
							keys[j][flow.WordPort], keys[j][flow.WordIPSrc], keys[j][flow.WordTP] = p[0], p[1], p[2]
						}
						if at += Batch; at+Batch > len(packets) {
							at = 0
						}
						if t.Lookup(keys, out) != 0 {
							b.Fatal("a miss")
						}
						for _, r := range out {
							t.Stats(r).Touch(1, 64, uint32(i), 0x10)
						}
					}
				}
				run(4 << 20)
				before := t.Counters()
				b.ResetTimer()
				start := threadTime(b)
				run(b.N)
				b.ReportMetric(float64(threadTime(b)-start)/float64(b.N), "cpu-ns/op")
				c := t.Counters()
				n := float64(c.Lookups - before.Lookups)
				b.ReportMetric(100*float64(c.CacheHits-before.CacheHits)/n, "%cached")
				b.ReportMetric(float64(c.Probes-before.Probes)/n, "probes/op")
				b.ReportMetric(float64(c.CacheSlots), "slots")
			})
		}
	}
}

// What making the keys costs in BenchmarkLookup.
func BenchmarkKeys(b *testing.B) {
	for _, l := range loads {
		b.Run(l.name, func(b *testing.B) {
			keys := make([]flow.Key, Batch)
			packets := l.packets()
			at := 0
			for i := 0; i < b.N; i += Batch {
				for j := range keys {
					p := &packets[at+j]
					keys[j][flow.WordPort], keys[j][flow.WordIPSrc], keys[j][flow.WordTP] = p[0], p[1], p[2]
				}
				if at += Batch; at+Batch > len(packets) {
					at = 0
				}
			}
		})
	}
}

// The longest insertion tells whether growing stalls the thread.
func BenchmarkInsert(b *testing.B) {
	l := load{flows: 1 << 20, megaflows: 1 << 20, masks: 1}
	for b.Loop() {
		l.fill(b)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(1<<20), "ns/insert")
}
