package rules

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

type up map[uint32]bool

func (u up) PortUp(p uint32) bool { return u[p] }

func bucket(id uint32, watch uint32, a ...ofp.Action) ofp.Bucket {
	return ofp.Bucket{ID: id, Weight: 1, WatchPort: watch, WatchGroup: ofp.GroupAny, Actions: a}
}

func mustGroup(t *testing.T, tabs *Tables, cmd GroupCommand, d ofp.GroupDef, where uint32) {
	t.Helper()
	if _, err := tabs.ApplyGroup(cmd, &d, where, 1000); err != nil {
		t.Fatal(err)
	}
}

func TestGroups(t *testing.T) {
	tabs := New()
	mustGroup(t, tabs, GroupAdd, ofp.GroupDef{ID: 1, Buckets: []ofp.Bucket{bucket(0, ofp.PortNone, out(1)...)}}, 0)
	mustGroup(t, tabs, GroupAdd, ofp.GroupDef{ID: 2, Type: ofp.GroupSelect}, 0)
	if _, err := tabs.Apply(adds([]ofp.Flow{
		{Priority: 1, Actions: []ofp.Action{ofp.Group{ID: 1}}},
		{Priority: 2, Actions: []ofp.Action{ofp.WriteActions{Actions: []ofp.Action{ofp.Group{ID: 2}}}}},
		{Priority: 3},
	}), Options{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cmd   GroupCommand
		def   ofp.GroupDef
		where uint32
		want  string // part of the error, or "": none
	}{
		{GroupAdd, ofp.GroupDef{ID: 1}, 0, "group 1 exists"},
		{GroupModify, ofp.GroupDef{ID: 3}, 0, "group 3 does not exist"},
		{GroupAdd, ofp.GroupDef{ID: ofp.GroupMax}, 0, "numbers go to"},
		{GroupAdd, ofp.GroupDef{ID: 3, Type: ofp.GroupIndirect}, 0, "has one bucket, not 0"},
		{GroupAdd, ofp.GroupDef{ID: 3, Buckets: []ofp.Bucket{bucket(1, 0), bucket(1, 0)}}, 0, "two buckets 1"},
		{GroupAdd, ofp.GroupDef{ID: 3, Type: ofp.GroupFastFailover, Buckets: []ofp.Bucket{bucket(1, ofp.PortNone)}}, 0, "watches nothing"},
		{GroupAdd, ofp.GroupDef{ID: 3, Buckets: []ofp.Bucket{bucket(1, 0, ofp.Group{ID: 3})}}, 0, "uses the group itself"},
		{GroupAdd, ofp.GroupDef{ID: 3, Buckets: []ofp.Bucket{bucket(1, 0, ofp.Group{ID: 9}, ofp.Meter{ID: 9})}}, 0, ""},
		{GroupAdd, ofp.GroupDef{ID: 9, Buckets: []ofp.Bucket{bucket(1, 0, ofp.Group{ID: 3})}}, 0, "leads back"},
		{GroupModify, ofp.GroupDef{ID: 3, Buckets: []ofp.Bucket{bucket(1, 0, ofp.Group{ID: 1})}}, 0, ""},
		{GroupModify, ofp.GroupDef{ID: 1, Buckets: []ofp.Bucket{bucket(1, 0, ofp.Group{ID: 3})}}, 0, "leads back"},
		{GroupInsertBuckets, ofp.GroupDef{ID: 1, Buckets: []ofp.Bucket{bucket(5, 0)}}, BucketLast, ""},
		{GroupInsertBuckets, ofp.GroupDef{ID: 1, Buckets: []ofp.Bucket{bucket(6, 0)}}, BucketFirst, ""},
		{GroupInsertBuckets, ofp.GroupDef{ID: 1, Buckets: []ofp.Bucket{bucket(7, 0)}}, 0, ""},
		{GroupInsertBuckets, ofp.GroupDef{ID: 1, Buckets: []ofp.Bucket{bucket(8, 0)}}, 99, "no bucket 99"},
		{GroupRemoveBuckets, ofp.GroupDef{ID: 1}, 5, ""},
	} {
		_, err := tabs.ApplyGroup(c.cmd, &c.def, c.where, 0)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v %+v: %v, want %q", c.cmd, c.def, err, c.want)
		}
		if c.cmd == GroupAdd && c.want == "" {
			tabs.Group(1).Buckets[0].Add(4, 400)
		}
	}
	var ids []uint32
	for _, b := range tabs.Group(1).Buckets {
		ids = append(ids, b.Def.ID)
		if p, _ := b.Counts(); (b.Def.ID == 0) != (p == 4) {
			t.Errorf("bucket %d: %d packets", b.Def.ID, p)
		}
	}
	if len(ids) != 3 || ids[0] != 6 || ids[1] != 0 || ids[2] != 7 {
		t.Error(ids)
	}
	ch, err := tabs.ApplyGroup(GroupDelete, &ofp.GroupDef{ID: 2}, 0, 0)
	if err != nil || tabs.Group(2) != nil || ch.Tags != TableTag(0)|GroupTag(2) || tabs.Rules() != 2 {
		t.Error(ch, err, tabs.Rules())
	}
	if _, err := tabs.ApplyGroup(GroupDelete, &ofp.GroupDef{ID: GroupAll}, 0, 0); err != nil || len(tabs.Groups()) != 0 || show(tabs) != "0.3.*=0:/0" {
		t.Error(err, show(tabs))
	}
}

func TestPick(t *testing.T) {
	tabs := New()
	b := []ofp.Bucket{bucket(0, 1), bucket(1, 2), bucket(2, 3)}
	b[1].Weight, b[2].Weight = 2, 3
	mustGroup(t, tabs, GroupAdd, ofp.GroupDef{ID: 1, Type: ofp.GroupSelect, Buckets: b}, 0)
	mustGroup(t, tabs, GroupAdd, ofp.GroupDef{ID: 2, Type: ofp.GroupFastFailover, Buckets: b}, 0)
	watch := ofp.Bucket{ID: 9, WatchPort: ofp.PortNone, WatchGroup: 2}
	mustGroup(t, tabs, GroupAdd, ofp.GroupDef{ID: 3, Type: ofp.GroupFastFailover, Buckets: []ofp.Bucket{watch}}, 0)
	all := up{1: true, 2: true, 3: true}
	var n [3]int
	g := tabs.Group(1)
	for h := range uint32(60000) {
		p := tabs.Pick(g, h, all)
		n[p.Def.ID]++
		// Without bucket 0, the others' packets stay where they are.
		if q := tabs.Pick(g, h, up{2: true, 3: true}); p.Def.ID != 0 && q != p {
			t.Fatalf("hash %d moved from %d to %d", h, p.Def.ID, q.Def.ID)
		}
	}
	for i, want := range []float64{10000, 20000, 30000} {
		if math.Abs(float64(n[i])-want) > 500 {
			t.Errorf("bucket %d: %d packets, want %v", i, n[i], want)
		}
	}
	ff := tabs.Group(2)
	if p := tabs.Pick(ff, 0, up{3: true, 2: true}); p.Def.ID != 1 {
		t.Error(p)
	}
	if p := tabs.Pick(ff, 0, up{}); p != nil {
		t.Error(p)
	}
	if tabs.Pick(tabs.Group(3), 0, up{}) != nil || tabs.Pick(tabs.Group(3), 0, all) == nil {
		t.Error("a watched group is not asked")
	}
	if n := testing.AllocsPerRun(100, func() { tabs.Pick(g, 5, all) }); n != 0 {
		t.Error(n, "allocations")
	}
}

func TestManyGroups(t *testing.T) {
	var m idmap[int]
	r := rand.New(rand.NewPCG(1, 1))
	want := map[uint32]int{}
	for i := range 20000 {
		id := r.Uint32N(3000)
		if r.IntN(3) == 0 {
			m.set(id, nil)
			delete(want, id)
		} else {
			m.set(id, &i)
			want[id] = i
		}
	}
	for id := range uint32(3000) {
		v, ok := want[id]
		if got := m.get(id); (got != nil) != ok || ok && *got != v {
			t.Fatal(id)
		}
	}
	if len(m.all()) != len(want) {
		t.Fatal(len(m.all()), len(want))
	}
}

func TestMeterRates(t *testing.T) {
	for _, c := range []struct {
		name    string
		def     ofp.MeterDef
		bytes   uint64 // of a packet
		gap     int64  // ns between packets
		seconds int64
		want    float64 // packets a second, after the burst
		burst   float64 // packets
	}{
		{"10 Mbit/s, big packets (ovs-issues 161)", ofp.MeterDef{Bands: []ofp.Band{{Rate: 10000, Burst: 1}}}, 70000, 1000000, 10, 17.86, 2},
		{"10 Mbit/s, small", ofp.MeterDef{Bands: []ofp.Band{{Rate: 10000, Burst: 1}}}, 64, 5000, 2, 19531, 1125},
		{"1 Mbit/s, burst 1000 kbit", ofp.MeterDef{Bands: []ofp.Band{{Rate: 1000, Burst: 1000}}}, 1250, 1000000, 5, 100, 100},
		{"a packet above the burst", ofp.MeterDef{Bands: []ofp.Band{{Rate: 1000, Burst: 1}}}, 125000, 1000000, 20, 1, 1},
		{"10 Gbit/s: rates above 32 bits", ofp.MeterDef{Bands: []ofp.Band{{Rate: 10000000, Burst: 1}}}, 1250, 500, 1, 1e6, 58},
		{"4 Tbit/s", ofp.MeterDef{Bands: []ofp.Band{{Rate: 4000000000, Burst: 1}}}, 9000, 1000, 1, 1e6, 0},
		{"packets", ofp.MeterDef{Packets: true, Bands: []ofp.Band{{Rate: 1000, Burst: 100}}}, 64, 10000, 3, 1000, 100},
		{"the lowest of two bands", ofp.MeterDef{Bands: []ofp.Band{{Rate: 2000, Burst: 1}, {Rate: 1000, Burst: 1}}}, 1250, 1000000, 5, 100, 57},
	} {
		m := NewMeter(c.def, 0)
		passed := 0.0
		const start = 1700000000000000
		for ns := int64(0); ns < c.seconds*1e9; ns += c.gap {
			if m.Charge(start+ns/1000, 1, c.bytes) {
				passed++
			}
		}
		want := c.want*float64(c.seconds) + c.burst
		if math.Abs(passed-want) > want*0.01+2 {
			t.Errorf("%s: %v packets passed, want %v", c.name, passed, want)
		}
	}
}

func TestMeterTimeRunsBack(t *testing.T) {
	m := NewMeter(ofp.MeterDef{Packets: true, Bands: []ofp.Band{{Rate: 1000, Burst: 64}}}, 0)
	passed := 0
	for i := range int64(10000) { // one thread's clock is 5 ms behind
		if m.Charge(1e9+i*100-(i%2)*5000, 1, 64) {
			passed++
		}
	}
	if passed < 1000 || passed > 1070 {
		t.Error(passed)
	}
	if m.Charge(-5, 1, 64) {
		t.Error("a time before the first gives tokens")
	}
}

func TestMeterThreads(t *testing.T) {
	m := NewMeter(ofp.MeterDef{Packets: true, Bands: []ofp.Band{{Rate: 1000, Burst: 100}}}, 0)
	var wg sync.WaitGroup
	var n [4]int
	for i := range n {
		wg.Go(func() {
			for now := range int64(20000) {
				if m.Charge(5+now*50, 1, 64) {
					n[i]++
				}
			}
		})
	}
	wg.Wait()
	if s := n[0] + n[1] + n[2] + n[3]; s < 1095 || s > 1101 {
		t.Error(n)
	}
	if p, b := m.Counts(); p != 80000 || b != 80000*64 {
		t.Error(p, b)
	}
	if n := testing.AllocsPerRun(100, func() { m.Charge(1, 1, 1) }); n != 0 {
		t.Error(n, "allocations")
	}
}

func TestMeterRemarks(t *testing.T) {
	m := NewMeter(ofp.MeterDef{Packets: true, Bands: []ofp.Band{{Rate: 1, Burst: 64, Prec: 2}, {Rate: 1000, Burst: 100}}}, 0)
	var got [3]int
	for range 200 {
		switch pass, prec := m.Judge(1000, 1, 64); {
		case !pass:
			got[2]++
		case prec == 2:
			got[1]++
		default:
			got[0]++
		}
	}
	if got != [3]int{64, 36, 100} {
		t.Error(got)
	}
}

func TestMeters(t *testing.T) {
	tabs := New()
	def := ofp.MeterDef{ID: 4, Bands: []ofp.Band{{Rate: 5}}}
	for _, c := range []struct {
		cmd  MeterCommand
		def  ofp.MeterDef
		want string
	}{
		{MeterModify, def, "meter 4 does not exist"},
		{MeterAdd, def, ""},
		{MeterAdd, def, "meter 4 exists"},
		{MeterModify, def, ""},
		{MeterAdd, ofp.MeterDef{ID: 0}, "numbers are 1 to"},
		{MeterAdd, ofp.MeterDef{ID: 5, Bands: []ofp.Band{{}}}, "band 1 has no rate"},
	} {
		_, err := tabs.ApplyMeter(c.cmd, &c.def, 0)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v %+v: %v, want %q", c.cmd, c.def, err, c.want)
		}
	}
	if _, err := tabs.Apply(adds([]ofp.Flow{{Priority: 1, Actions: []ofp.Action{ofp.Meter{ID: 4}}}, {Priority: 2}}), Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := tabs.ApplyMeter(MeterDelete, &ofp.MeterDef{ID: MeterAll}, 0); err != nil || len(tabs.Meters()) != 0 || tabs.Rules() != 1 {
		t.Error(err, tabs.Rules())
	}
}

// Several changes are all done or none.
func TestApplyGroups(t *testing.T) {
	tabs := New()
	def := func(id uint32, ports ...uint32) *ofp.GroupDef {
		d := &ofp.GroupDef{ID: id, Type: ofp.GroupAll}
		for i, p := range ports {
			d.Buckets = append(d.Buckets, ofp.Bucket{ID: uint32(i), WatchPort: ofp.PortNone, WatchGroup: ofp.GroupAny, Actions: out(p)})
		}
		return d
	}
	show := func() (s string) {
		for _, g := range tabs.Groups() {
			s += strings.TrimSpace(string(g.Def.Append(nil, nil))) + "\n"
		}
		return s
	}
	if _, err := tabs.ApplyGroups([]GroupChange{
		{GroupAdd, def(1, 1), 0}, {GroupAdd, def(2, 2), 0}, {GroupModify, def(1, 3), 0}, {GroupInsertBuckets, &ofp.GroupDef{ID: 2, Buckets: def(2, 2, 5).Buckets[1:]}, BucketLast},
	}, 0); err != nil {
		t.Fatal(err)
	}
	before, version := show(), tabs.Version()
	if strings.Count(before, "\n") != 2 || strings.Count(before, "output") != 3 {
		t.Errorf("got\n%s", before)
	}
	for _, list := range [][]GroupChange{
		{{GroupAdd, def(3, 1), 0}, {GroupModify, def(1, 9), 0}, {GroupModify, def(1, 8), 0}, {GroupAdd, def(2, 2), 0}},
		{{GroupModify, def(1, 9), 0}, {GroupModify, def(3, 1), 0}},
		{{GroupModify, def(1, 9), 0}, {GroupDelete, def(2), 0}},
	} {
		_, err := tabs.ApplyGroups(list, 0)
		var e *Error
		if !errors.As(err, &e) || e.Index != len(list)-1 {
			t.Errorf("%v", err)
		}
		if got := show(); got != before {
			t.Errorf("after %v:\n%s", err, got)
		}
	}
	if tabs.Version() == version {
		t.Error("what was taken back was not told")
	}
	if _, err := tabs.ApplyGroups([]GroupChange{{GroupDelete, def(2), 0}}, 0); err != nil || len(tabs.Groups()) != 1 {
		t.Errorf("%v, %d groups", err, len(tabs.Groups()))
	}
}
