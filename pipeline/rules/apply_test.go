package rules

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// inPort is a match on a port.
func inPort(n uint64) (m flow.Match) {
	m.Mask[flow.WordPort] = 0xffffffff << 32
	m.Key[flow.WordPort] = n << 32
	return m
}

func out(ports ...uint32) (a []ofp.Action) {
	for _, p := range ports {
		a = append(a, ofp.Output{Port: p})
	}
	return a
}

func mod(c ofp.Command, f ofp.Flow) ofp.FlowMod {
	return ofp.FlowMod{Command: c, Flow: f, OutPort: ofp.PortNone, OutGroup: ofp.GroupAny}
}

// show is what tables hold, a word for each flow: table.priority.port=cookie:outputs/packets.
func show(t *Tables) string {
	var b strings.Builder
	for _, r := range t.Flows(nil) {
		m := r.Match()
		fmt.Fprintf(&b, "%d.%d.", r.Table, r.Priority)
		if m.Mask[flow.WordPort] != 0 {
			fmt.Fprint(&b, m.Key.InPort())
		} else {
			b.WriteByte('*')
		}
		fmt.Fprintf(&b, "=%d:", r.Cookie)
		for _, a := range r.Actions {
			if o, ok := a.(ofp.Output); ok {
				fmt.Fprint(&b, o.Port)
			} else {
				fmt.Fprintf(&b, "%T", a)
			}
		}
		fmt.Fprintf(&b, "/%d ", r.Packets())
	}
	return strings.TrimSpace(b.String())
}

func flowsOf(fs ...ofp.Flow) *Tables {
	t := New()
	if _, err := t.Apply(adds(fs), Options{Now: 1000}); err != nil {
		panic(err)
	}
	for i, r := range t.Flows(nil) {
		r.Add(uint64(i+1), 100, 2000)
	}
	return t
}

func three() *Tables {
	return flowsOf(
		ofp.Flow{Priority: 30, Match: inPort(1), Actions: out(1), Cookie: 1},
		ofp.Flow{Priority: 20, Match: inPort(2), Actions: out(2), Cookie: 2},
		ofp.Flow{Priority: 10, Actions: out(9), Cookie: 3},
	)
}

func TestApply(t *testing.T) {
	all := ofp.Flow{Table: ofp.TableAll}
	cookie := func(m ofp.FlowMod, c, mask uint64) ofp.FlowMod {
		m.Flow.Cookie, m.CookieMask = c, mask
		return m
	}
	port := func(m ofp.FlowMod, p uint32) ofp.FlowMod {
		m.OutPort = p
		return m
	}
	for _, c := range []struct {
		name string
		mods []ofp.FlowMod
		want string // flows, or the error
	}{
		{"nothing", nil, "0.30.1=1:1/1 0.20.2=2:2/2 0.10.*=3:9/3"},
		{
			"add replaces and counts from 0",
			[]ofp.FlowMod{mod(ofp.Add, ofp.Flow{Priority: 20, Match: inPort(2), Actions: out(5)})},
			"0.30.1=1:1/1 0.20.2=0:5/0 0.10.*=3:9/3",
		},
		{
			"add with another priority does not",
			[]ofp.FlowMod{mod(ofp.Add, ofp.Flow{Priority: 21, Match: inPort(2), Actions: out(5)})},
			"0.30.1=1:1/1 0.21.2=0:5/0 0.20.2=2:2/2 0.10.*=3:9/3",
		},
		{
			"overlap",
			[]ofp.FlowMod{mod(ofp.Add, ofp.Flow{Priority: 30, Flags: ofp.CheckOverlap})},
			"flow 1: overlaps with a flow of table 0 with the same priority, 30",
		},
		{
			"the same is no overlap",
			[]ofp.FlowMod{mod(ofp.Add, ofp.Flow{Priority: 30, Match: inPort(1), Flags: ofp.CheckOverlap})},
			"0.30.1=0:/0 0.20.2=2:2/2 0.10.*=3:9/3",
		},
		{
			"disjoint is no overlap",
			[]ofp.FlowMod{mod(ofp.Add, ofp.Flow{Priority: 30, Match: inPort(7), Flags: ofp.CheckOverlap})},
			"0.30.1=1:1/1 0.30.7=0:/0 0.20.2=2:2/2 0.10.*=3:9/3",
		},
		{
			"modify all, counters stay",
			[]ofp.FlowMod{mod(ofp.Modify, ofp.Flow{Actions: out(4)})},
			"0.30.1=1:4/1 0.20.2=2:4/2 0.10.*=3:4/3",
		},
		{
			"modify with reset_counts, and a cookie",
			[]ofp.FlowMod{mod(ofp.Modify, ofp.Flow{Match: inPort(1), Actions: out(4), Cookie: 8, Flags: ofp.ResetCounts})},
			"0.30.1=8:4/0 0.20.2=2:2/2 0.10.*=3:9/3",
		},
		{
			"modify adds",
			[]ofp.FlowMod{mod(ofp.Modify, ofp.Flow{Match: inPort(6), Priority: 5, Actions: out(4)})},
			"0.30.1=1:1/1 0.20.2=2:2/2 0.10.*=3:9/3 0.5.6=0:4/0",
		},
		{
			"modify by cookie does not add",
			[]ofp.FlowMod{cookie(mod(ofp.Modify, ofp.Flow{Match: inPort(6), Actions: out(4)}), 0, 1)},
			"0.30.1=1:1/1 0.20.2=2:2/2 0.10.*=3:9/3",
		},
		{
			"modify by cookie",
			[]ofp.FlowMod{cookie(mod(ofp.Modify, ofp.Flow{Actions: out(4)}), 2, 3)},
			"0.30.1=1:1/1 0.20.2=2:4/2 0.10.*=3:9/3",
		},
		{
			"modify strict",
			[]ofp.FlowMod{mod(ofp.ModifyStrict, ofp.Flow{Priority: 10, Actions: out(4)})},
			"0.30.1=1:1/1 0.20.2=2:2/2 0.10.*=3:4/3",
		},
		{
			"modify strict with another priority adds",
			[]ofp.FlowMod{mod(ofp.ModifyStrict, ofp.Flow{Priority: 11, Actions: out(4), Cookie: ^uint64(0)})},
			"0.30.1=1:1/1 0.20.2=2:2/2 0.11.*=0:4/0 0.10.*=3:9/3",
		},
		{"delete all", []ofp.FlowMod{mod(ofp.Delete, all)}, ""},
		{
			"delete what is as specific",
			[]ofp.FlowMod{mod(ofp.Delete, ofp.Flow{Match: inPort(1)})},
			"0.20.2=2:2/2 0.10.*=3:9/3",
		},
		{
			"delete another table's",
			[]ofp.FlowMod{mod(ofp.Delete, ofp.Flow{Table: 1})},
			"0.30.1=1:1/1 0.20.2=2:2/2 0.10.*=3:9/3",
		},
		{"delete by port", []ofp.FlowMod{port(mod(ofp.Delete, all), 9)}, "0.30.1=1:1/1 0.20.2=2:2/2"},
		{"delete by cookie", []ofp.FlowMod{cookie(mod(ofp.Delete, all), 1, 1)}, "0.20.2=2:2/2"},
		{
			"delete strict",
			[]ofp.FlowMod{mod(ofp.DeleteStrict, ofp.Flow{Priority: 10})},
			"0.30.1=1:1/1 0.20.2=2:2/2",
		},
		{
			"delete strict with another priority",
			[]ofp.FlowMod{mod(ofp.DeleteStrict, ofp.Flow{Priority: 11})},
			"0.30.1=1:1/1 0.20.2=2:2/2 0.10.*=3:9/3",
		},
		{
			"strict in all tables",
			[]ofp.FlowMod{mod(ofp.DeleteStrict, ofp.Flow{Priority: 10, Table: ofp.TableAll})},
			"0.30.1=1:1/1 0.20.2=2:2/2",
		},
		{
			"in order",
			[]ofp.FlowMod{
				mod(ofp.Delete, all), mod(ofp.Add, ofp.Flow{Priority: 7, Actions: out(1)}),
				mod(ofp.ModifyStrict, ofp.Flow{Priority: 7, Actions: out(2)}),
				mod(ofp.Add, ofp.Flow{Priority: 8, Table: 3}), mod(ofp.Delete, ofp.Flow{Table: 3}),
			},
			"0.7.*=0:2/0",
		},
		{
			"all or nothing, small",
			[]ofp.FlowMod{
				mod(ofp.Add, ofp.Flow{Priority: 7}), mod(ofp.DeleteStrict, ofp.Flow{Priority: 10}),
				mod(ofp.Add, ofp.Flow{Actions: []ofp.Action{ofp.Group{ID: 4}}}),
			},
			"flow 3: group 4 does not exist",
		},
		{
			"all or nothing, large",
			[]ofp.FlowMod{
				mod(ofp.Delete, all), mod(ofp.Add, ofp.Flow{Priority: 30, Match: inPort(1)}),
				mod(ofp.Add, ofp.Flow{Priority: 30, Flags: ofp.CheckOverlap}),
			},
			"flow 3: overlaps with a flow of table 0 with the same priority, 30",
		},
		{
			"table full",
			[]ofp.FlowMod{
				mod(ofp.Add, ofp.Flow{Table: 5}), mod(ofp.Add, ofp.Flow{Table: 5, Priority: 1}),
				mod(ofp.Add, ofp.Flow{Table: 5}), mod(ofp.Add, ofp.Flow{Table: 5, Priority: 2}),
			},
			"flow 4: table 5 is full: it may have 2 flows",
		},
		{
			"meter",
			[]ofp.FlowMod{mod(ofp.Modify, ofp.Flow{Actions: []ofp.Action{ofp.Meter{ID: 4}}})},
			"flow 1: meter 4 does not exist",
		},
		{
			"conjunction",
			[]ofp.FlowMod{mod(ofp.Add, ofp.Flow{Actions: []ofp.Action{ofp.Conjunction{ID: 4, N: 2, Clause: 2}}})},
			"flow 1: conjunction(4,3/2): dimensions are 1 to n, n is 2 to 64",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tabs := three()
			tabs.SetLimit(5, 2)
			before, v := show(tabs), tabs.Version()
			_, err := tabs.Apply(c.mods, Options{Now: 3000})
			got := show(tabs)
			if err != nil {
				if got != before || tabs.Version() != v || len(tabs.limbo.graves) != 0 {
					t.Errorf("refused, but: %s", got)
				}
				var e *Error
				if !errors.As(err, &e) {
					t.Errorf("%T", err)
				}
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			tabs.grace = 0
			tabs.Expire(0)
			if err == nil && show(tabs) != got {
				t.Errorf("reclaimed: %s", show(tabs))
			}
			checkCounted(t, tabs)
		})
	}
}

// A small change must be refused halfway without a trace, too.
func TestSmallUndo(t *testing.T) {
	tabs := three()
	tabs.SetLimit(5, 1)
	_, err := tabs.Apply([]ofp.FlowMod{
		mod(ofp.Add, ofp.Flow{Priority: 10, Actions: out(4)}),
		mod(ofp.DeleteStrict, ofp.Flow{Priority: 30, Match: inPort(1)}),
		mod(ofp.Add, ofp.Flow{Table: 5}), mod(ofp.Add, ofp.Flow{Table: 5, Priority: 1}),
	}, Options{})
	if err == nil || show(tabs) != "0.30.1=1:1/1 0.20.2=2:2/2 0.10.*=3:9/3" || tabs.Rules() != 3 {
		t.Error(err, show(tabs), tabs.Rules())
	}
}

func TestReplace(t *testing.T) {
	tabs := three()
	ch, err := tabs.Replace([]ofp.Flow{
		{Priority: 30, Match: inPort(1), Actions: out(1), Cookie: 1},
		{Priority: 20, Match: inPort(2), Actions: out(7), Cookie: 2},
		{Priority: 5, Table: 2},
	}, Options{Now: 5000})
	if got := show(tabs); err != nil || got != "0.30.1=1:1/1 0.20.2=2:7/0 2.5.*=0:/0" {
		t.Error(err, got)
	}
	if ch.Tags != TableTag(0)|TableTag(2) {
		t.Errorf("%+v", ch)
	}
	again, _ := tabs.Replace([]ofp.Flow{
		{Priority: 30, Match: inPort(1), Actions: out(1), Cookie: 1},
		{Priority: 20, Match: inPort(2), Actions: out(7), Cookie: 2},
		{Priority: 5, Table: 2},
	}, Options{Now: 5000})
	if again.Tags != 0 || tabs.Rules() != 3 {
		t.Errorf("%+v", again)
	}
}

func TestTimeouts(t *testing.T) {
	tabs := New()
	mods := adds([]ofp.Flow{
		{Priority: 1, Idle: 10}, {Priority: 2, Hard: 15}, {Priority: 3, Idle: 10, Hard: 12}, {Priority: 4},
	})
	if _, err := tabs.Apply(mods, Options{Now: 1000}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		now  int64
		used uint16 // priority of a rule that gets a packet then
		want string
	}{
		{10999, 1, "0.4.*=0:/0 0.3.*=0:/0 0.2.*=0:/0 0.1.*=0:/0"},
		{11000, 0, "0.4.*=0:/0 0.2.*=0:/0 0.1.*=0:/1"},
		{16000, 0, "0.4.*=0:/0 0.1.*=0:/1"},
		{20998, 0, "0.4.*=0:/0 0.1.*=0:/1"},
		{20999, 0, "0.4.*=0:/0"},
		{1 << 40, 0, "0.4.*=0:/0"},
	} {
		ch := tabs.Expire(c.now)
		if got := show(tabs); got != c.want {
			t.Errorf("at %d: %s, want %s", c.now, got, c.want)
		}
		if (ch.Removed > 0) != (ch.Tags != 0) {
			t.Errorf("%+v", ch)
		}
		for _, r := range tabs.Flows(nil) {
			if r.Priority == c.used {
				r.Add(1, 1, c.now)
			}
		}
	}
	if s := tabs.Stats()[0]; s.IdleRemoved != 2 || s.HardRemoved != 1 || s.Rules != 1 {
		t.Errorf("%+v", s)
	}
}

func TestLearn(t *testing.T) {
	tabs := New()
	teacher := ofp.Flow{Priority: 1, Actions: []ofp.Action{ofp.Learn{Table: 1, Cookie: 9, DeleteLearned: true}}}
	learned := ofp.Flow{Table: 1, Priority: 5, Match: inPort(3), Actions: out(3), Cookie: 9, Hard: 10}
	for _, f := range []ofp.Flow{teacher, learned, {Table: 1, Priority: 6, Cookie: 8}, {Table: 2, Cookie: 9}} {
		if _, err := tabs.Apply(adds([]ofp.Flow{f}), Options{Now: 1000}); err != nil {
			t.Fatal(err)
		}
	}
	v := tabs.Version()
	ch, err := tabs.Apply(adds([]ofp.Flow{learned}), Options{Now: 9000, Learn: true})
	if err != nil || ch.Tags != 0 || tabs.Version() != v {
		t.Errorf("learned again: %+v %v", ch, err)
	}
	if ch := tabs.Expire(18999); ch.Removed != 0 {
		t.Error("the flow was not renewed")
	}
	other := learned
	other.Match = inPort(4)
	if _, err := tabs.Apply(adds([]ofp.Flow{other}), Options{Learn: true, Limit: 1}); err == nil ||
		err.Error() != "flow 1: table 1 has 1 flows of cookie 0x9, which is the limit" {
		t.Error(err)
	}
	if _, err := tabs.Apply(adds([]ofp.Flow{other}), Options{Learn: true, Limit: 2}); err != nil {
		t.Error(err)
	}
	if _, err := tabs.Apply([]ofp.FlowMod{mod(ofp.DeleteStrict, teacher)}, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := show(tabs); got != "1.6.*=8:/0 2.0.*=9:/0" {
		t.Error("learned flows stay: ", got)
	}
}

// What a poll thread learns never waits for a big change: what it leaves behind goes with the next Expire.
func TestLearnDuringLargeChange(t *testing.T) {
	tabs := New()
	teacher := ofp.Flow{Priority: 1, Actions: []ofp.Action{ofp.Learn{Table: 1, Cookie: 9, DeleteLearned: true}}}
	learned := ofp.Flow{Table: 1, Priority: 5, Match: inPort(3), Actions: out(3), Cookie: 9}
	if _, err := tabs.Apply(adds([]ofp.Flow{teacher, learned}), Options{}); err != nil {
		t.Fatal(err)
	}
	tabs.big.Lock() // as a big change does
	done := make(chan error)
	go func() {
		_, err := tabs.Apply(adds([]ofp.Flow{{Priority: 1, Actions: out(2)}}), Options{Learn: true}) // in place of the teacher
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(60 * time.Second):
		t.Error("it waits")
	}
	tabs.big.Unlock()
	if ch := tabs.Expire(0); ch.Removed != 1 || len(tabs.Flows(nil)) != 1 {
		t.Errorf("%+v, left: %s", ch, show(tabs))
	}
}

func TestConjunctionPriorities(t *testing.T) {
	clause := func(p uint16, m flow.Match, c uint8) ofp.Flow {
		return ofp.Flow{Priority: p, Match: m, Actions: []ofp.Action{ofp.Conjunction{ID: 7, Clause: c, N: 2}}}
	}
	var id, dst flow.Match
	id.Mask[flow.WordPipe], id.Key[flow.WordPipe] = 0xffffffff<<32, 7<<32
	dst.Mask[flow.WordDst] = 0xffff << 48
	meta := flow.Match{}
	meta.Mask[flow.WordMeta] = 1
	hard := func(p uint16) ofp.Flow { return ofp.Flow{Priority: p, Match: meta, Actions: out(9)} }
	conj := []ofp.Flow{
		clause(20, inPort(0), 0), clause(20, dst, 1),
		{Priority: 20, Match: id, Actions: out(5)},
		// Their subtables are searched first.
		{Priority: 100, Match: inPort(5)},
		{Priority: 100, Match: func() flow.Match {
			m := dst
			m.Key[flow.WordDst] = 1 << 48
			return m
		}()},
	}
	for _, c := range []struct {
		name  string
		extra []ofp.Flow
		want  uint32
	}{
		{"conjunction", nil, 5},
		{"above", []ofp.Flow{hard(50)}, 9},
		{"below", []ofp.Flow{hard(10)}, 5},
		{"the same, the plain flow wins", []ofp.Flow{hard(20)}, 9},
		{"above, and a flow for the id above it", []ofp.Flow{hard(50), {Priority: 60, Match: id, Actions: out(6)}}, 9},
		{"below, and a flow for the id above it", []ofp.Flow{hard(10), {Priority: 60, Match: id, Actions: out(6)}}, 6},
	} {
		tabs := flowsOf(append(c.extra, conj...)...)
		var k, wc flow.Key
		r := tabs.Lookup(0, tabs.Version(), &k, &wc, new(Scratch))
		if r == nil || r.Actions[0] != ofp.Action(ofp.Output{Port: c.want}) {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
	tabs := flowsOf(conj[0], conj[2], hard(5))
	var k, wc flow.Key
	if r := tabs.Lookup(0, tabs.Version(), &k, &wc, new(Scratch)); r == nil || r.Priority != 5 {
		t.Errorf("half a conjunction: %+v", r)
	}
}

// A poll thread that learns with a limit for the first time must not look at a whole table.
func TestLimitIsKnown(t *testing.T) {
	tabs := New()
	const n = 20_000
	flows := make([]ofp.Flow, n)
	for i := range flows {
		flows[i] = ofp.Flow{Table: 1, Cookie: 9, Priority: 5, Match: inPort(uint64(i)), Actions: out(1)}
	}
	if _, err := tabs.Apply(adds(flows), Options{}); err != nil {
		t.Fatal(err)
	}
	lesson := adds([]ofp.Flow{{Table: 1, Cookie: 9, Priority: 5, Match: inPort(n + 1), Actions: out(1)}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := tabs.Apply(lesson, Options{Learn: true, Limit: n})
	runtime.ReadMemStats(&after)
	if err == nil {
		t.Errorf("learned beyond the limit")
	}
	if b := after.TotalAlloc - before.TotalAlloc; b > 100_000 {
		t.Errorf("%d bytes for one flow in a table of %d", b, n)
	}
}

// checkCounted compares what is counted of cookies with the tables.
func checkCounted(t *testing.T, tabs *Tables) {
	t.Helper()
	want := map[cookieOf]int{}
	for _, r := range tabs.Flows(nil) {
		want[cookieOf{r.Cookie, r.Table}]++
	}
	tabs.mu.Lock()
	defer tabs.mu.Unlock()
	if !maps.Equal(want, tabs.counted) {
		t.Errorf("flows by cookie: counted %v, there are %v", tabs.counted, want)
	}
}
