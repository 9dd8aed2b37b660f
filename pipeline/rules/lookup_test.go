package rules

import (
	"fmt"
	"testing"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// unique drops flows that replace earlier ones, as tables would.
func unique(flows []ofp.Flow) (out []ofp.Flow) {
	at := map[string]int{}
	for _, f := range flows {
		id := fmt.Sprint(f.Table, f.Priority, f.Match)
		if i, ok := at[id]; ok {
			out[i] = f
			continue
		}
		at[id] = len(out)
		out = append(out, f)
	}
	return out
}

// checkLookup compares Lookup with Linear, and asks whether the mask tells the truth.
func checkLookup(t *testing.T, tabs *Tables, flows []ofp.Flow, w world, packets int) {
	t.Helper()
	var s Scratch
	v := tabs.Version()
	port := func(f *ofp.Flow) string { return fmt.Sprint(f.Priority, f.Actions) }
	for range packets {
		k := w.key()
		var wc flow.Key
		r := tabs.Lookup(0, v, &k, &wc, &s)
		got, want := "none", "none"
		if r != nil {
			f := r.Flow()
			got = port(&f)
		}
		if i := Linear(flows, 0, &k); i >= 0 {
			want = port(&flows[i])
		}
		if got != want {
			t.Fatalf("packet %x: got %s, want %s", k, got, want)
		}
		for range 8 {
			// Another packet that agrees in all that was looked at.
			o := w.key()
			switch w.IntN(3) {
			case 0:
				for i := range o {
					o[i] = w.Uint64()
				}
			case 1:
				o = k
				o[w.IntN(flow.PacketWords)] ^= 1 << w.UintN(64)
			}
			o[flow.WordPipe] = 0
			for i := range o {
				o[i] = o[i]&^wc[i] | k[i]&wc[i]
			}
			var wc2 flow.Key
			if r2 := tabs.Lookup(0, v, &o, &wc2, &s); r2 != r {
				t.Fatalf("packets %x and %x agree on %x but find %v and %v", k, o, wc, r, r2)
			}
		}
	}
}

func TestLookupIsLinear(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for seed := range uint64(rounds) {
		w := newWorld(seed)
		n := 1 + w.IntN(8)
		if seed%5 == 0 {
			n = 1 + w.IntN(300)
		}
		flows := unique(w.flows(n, seed%2 == 1))
		tabs := New()
		tabs.grace = 0
		if _, err := tabs.Apply(adds(flows), Options{}); err != nil {
			t.Fatal(err)
		}
		checkLookup(t, tabs, flows, w, 200)

		// Without every second one, as if they had never been there.
		var rest []ofp.Flow
		var dels []ofp.FlowMod
		for i := range flows {
			if i%2 == 0 {
				rest = append(rest, flows[i])
				continue
			}
			dels = append(dels, ofp.FlowMod{
				Command: ofp.DeleteStrict, Flow: flows[i],
				OutPort: ofp.PortNone, OutGroup: ofp.GroupAny,
			})
		}
		if ch, err := tabs.Apply(dels, Options{}); err != nil || ch.Removed != len(dels) {
			t.Fatal(ch, err, len(dels))
		}
		tabs.Expire(0)
		if n := len(tabs.Flows(nil)); n != len(rest) || tabs.Rules() != n {
			t.Fatal(n, tabs.Rules(), len(rest))
		}
		checkLookup(t, tabs, rest, w, 200)

		// What is left of nothing must be nothing.
		if _, err := tabs.Apply([]ofp.FlowMod{{
			Command: ofp.Delete, Flow: ofp.Flow{Table: ofp.TableAll},
			OutPort: ofp.PortNone, OutGroup: ofp.GroupAny,
		}}, Options{}); err != nil {
			t.Fatal(err)
		}
		tabs.Expire(0)
		tb := tabs.tables[0].Load()
		if len(tb.byMask) != 0 || len(*tb.subs.Load()) != 0 || tabs.limbo.first != len(tabs.limbo.graves) {
			t.Fatal("subtables are left")
		}
		for i := range tb.tries {
			if tb.tries[i].root.Load() != nil {
				t.Fatalf("trie %d is not empty", i)
			}
		}
		if len(tabs.timers) != 0 {
			t.Fatal("counts are left")
		}
	}
}

// Masks must be as narrow as stages and tries can make them.
func TestLookupLooksAtLittle(t *testing.T) {
	var ip flow.Match
	ip.Mask[flow.WordSrc], ip.Key[flow.WordSrc] = 0xffff, 0x0800
	add := func(m flow.Match, w int, mask, v uint64) flow.Match {
		m.Mask[w] |= mask
		m.Key[w] |= v
		return m
	}
	tcp := add(ip, flow.WordIP, 0xff<<56, 6<<56)
	flows := []ofp.Flow{
		{Priority: 1},
		{Priority: 10, Match: add(ip, flow.WordIPSrc, 0xff000000, 0x0a000000)},
		{Priority: 11, Match: add(ip, flow.WordIPSrc, 0xffffff00, 0xc0a80100)},
		{Priority: 12, Match: add(tcp, flow.WordTP, 0xffff<<32, 80<<32)},
		{Priority: 13, Match: add(ip, flow.WordMeta, ^uint64(0), 5)},
	}
	tabs := New()
	if _, err := tabs.Apply(adds(flows), Options{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		dst      uint64
		typ      uint64
		port     uint64
		priority uint16
		want     map[int]uint64
	}{
		{"arp", 0x0a000001, 0x0806, 0, 1, map[int]uint64{flow.WordMeta: ^uint64(0), flow.WordSrc: 0xffff}},
		{"far", 0x40000001, 0x0800, 443, 1, map[int]uint64{
			flow.WordMeta: ^uint64(0), flow.WordSrc: 0xffff,
			flow.WordIP:    0xff << 56,
			flow.WordTP:    0x8000 >> 7 << 32, // 443 and 80 differ in that bit first
			flow.WordIPSrc: 0xc0000000,        // neither 0... nor 11...
		}},
		{"in 10/8", 0x0a000001, 0x0800, 443, 10, map[int]uint64{
			flow.WordMeta: ^uint64(0), flow.WordSrc: 0xffff, flow.WordIP: 0xff << 56,
			flow.WordTP: 0xff00 << 32 & 0xff0000000000, flow.WordIPSrc: 0xff000000,
		}},
	} {
		var k, wc flow.Key
		k[flow.WordSrc], k[flow.WordIP] = c.typ, 6<<56
		k[flow.WordIPSrc], k[flow.WordTP] = c.dst, c.port<<32
		var s Scratch
		r := tabs.Lookup(0, tabs.Version(), &k, &wc, &s)
		if r == nil || r.Priority != c.priority {
			t.Errorf("%s: %v", c.name, r)
		}
		for i := range wc {
			if wc[i]&^c.want[i] != 0 && i != flow.WordTP || wc[i] == 0 && c.want[i] != 0 {
				t.Errorf("%s: word %d: looked at %x, want %x", c.name, i, wc[i], c.want[i])
			}
		}
		if n := wc[flow.WordTP] >> 32; n == 0xffff {
			t.Errorf("%s: all of the port was looked at", c.name)
		}
	}
}

func TestLookupAllocatesNothing(t *testing.T) {
	w := newWorld(3)
	tabs := New()
	if _, err := tabs.Apply(adds(unique(w.flows(300, true))), Options{}); err != nil {
		t.Fatal(err)
	}
	keys := make([]flow.Key, 64)
	for i := range keys {
		keys[i] = w.key()
	}
	var s Scratch
	var wc flow.Key
	run := func() {
		for i := range keys {
			if r := tabs.Lookup(0, tabs.Version(), &keys[i], &wc, &s); r != nil {
				r.Add(1, 60, 5)
			}
		}
		tabs.Group(5)
		tabs.Meter(5)
	}
	run()
	if n := testing.AllocsPerRun(20, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
