package rules

import (
	"runtime"
	"testing"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// acl are n flows over 5-tuples with as many masks as the product of the prefix lengths.
func acl(n, masks int) []ofp.FlowMod {
	mods := make([]ofp.FlowMod, n)
	out := make([]ofp.Action, 1)
	out[0] = ofp.Output{Port: 1}
	for i := range mods {
		f := &mods[i].Flow
		c := i % masks
		m := &f.Match
		m.Mask[flow.WordSrc], m.Key[flow.WordSrc] = 0xffff, 0x0800
		m.Mask[flow.WordIP], m.Key[flow.WordIP] = 0xff<<56, 6<<56
		src, dst := uint(32-c%8), uint(32-c/8%8)
		m.Mask[flow.WordIPSrc] = (1<<32-1<<(32-src))<<32 | (1<<32 - 1<<(32-dst))
		m.Key[flow.WordIPSrc] = (uint64(i)*2654435761<<32 | uint64(i)*40503) & m.Mask[flow.WordIPSrc]
		if c%2 == 0 {
			m.Mask[flow.WordTP] = 0xffff << 32
			m.Key[flow.WordTP] = uint64(i) & 0xffff << 32
		}
		f.Priority = uint16(i)
		f.Actions = out
		mods[i].OutPort, mods[i].OutGroup = ofp.PortNone, ofp.GroupAny
	}
	return mods
}

func BenchmarkInsert100000(b *testing.B) {
	mods := acl(100000, 20)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New().Apply(mods, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMemoryPerRule(b *testing.B) {
	l2 := make([]ofp.Flow, 100000)
	for i := range l2 {
		l2[i] = ofp.Flow{Priority: 5, Match: inPort(uint64(i % 64)), Actions: out(2)}
		l2[i].Match.Mask[flow.WordDst] = 0xffffffffffff << 16
		l2[i].Match.Key[flow.WordDst] = uint64(i) << 16
	}
	for _, c := range []struct {
		name string
		mods []ofp.FlowMod
	}{{"port-mac", adds(l2)}, {"5-tuple", acl(100000, 20)}} {
		b.Run(c.name, func(b *testing.B) {
			var m0, m1 runtime.MemStats
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&m0)
				t := New()
				if _, err := t.Apply(c.mods, Options{}); err != nil {
					b.Fatal(err)
				}
				runtime.GC()
				runtime.ReadMemStats(&m1)
				b.ReportMetric(float64(m1.HeapAlloc-m0.HeapAlloc)/100000, "bytes/rule")
				runtime.KeepAlive(t)
			}
		})
	}
}

func benchmarkLookup(b *testing.B, rules, masks int) {
	t := New()
	mods := acl(rules, masks)
	if _, err := t.Apply(mods, Options{}); err != nil {
		b.Fatal(err)
	}
	keys := make([]flow.Key, 1024)
	for i := range keys {
		keys[i] = mods[i*7%len(mods)].Flow.Match.Key
		if i%4 == 0 {
			keys[i][flow.WordIPSrc] ^= 0x0101 << 16
		}
	}
	var s Scratch
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		var wc flow.Key
		t.Lookup(0, t.Version(), &keys[i&1023], &wc, &s)
	}
}

func BenchmarkLookup1000x20(b *testing.B)   { benchmarkLookup(b, 1000, 20) }
func BenchmarkLookup100000x20(b *testing.B) { benchmarkLookup(b, 100000, 20) }
func BenchmarkLookup1000x64(b *testing.B)   { benchmarkLookup(b, 1000, 64) }

func BenchmarkAddAmong100000(b *testing.B) {
	t := New()
	if _, err := t.Apply(acl(100000, 20), Options{}); err != nil {
		b.Fatal(err)
	}
	mods := acl(1, 1)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		mods[0].Flow.Priority = uint16(i)
		mods[0].Flow.Match.Key[flow.WordIPSrc] = uint64(i)
		if _, err := t.Apply(mods, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReplace10000(b *testing.B) {
	t := New()
	mods := acl(10000, 20)
	sets := [2][]ofp.Flow{}
	for i := range mods {
		sets[0] = append(sets[0], mods[i].Flow)
		if i%2 == 0 {
			mods[i].Flow.Cookie = 5
		}
		sets[1] = append(sets[1], mods[i].Flow)
	}
	for i := 0; b.Loop(); i++ {
		if _, err := t.Replace(sets[i&1], Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
