package datapath

import (
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/datapath/megaflow"
	"github.com/gvswitch/gvswitch/pipeline/xlate"
)

// A bug in a pass costs the megaflow that it shows in, and nothing else.
func TestPanicInPass(t *testing.T) {
	d, b, th := bare(t)
	flowPair(t, b, th, 64, "in_port=1,actions=multipath(symmetric_l4,1,modulo_n,1,0,reg0[0..15]),2", "in_port=2,actions=1")
	passed := func() uint64 { return d.CacheStats()[0].Passes }
	var refs [8]megaflow.Ref
	n, _ := th.fl.tab.Scan(0, refs[:])
	before := th.fl.tab.Len()
	if n < 8 || before < 16 {
		t.Fatalf("%d megaflows", before)
	}
	bad := th.fl.progs.insert(&xlate.Result{}, 1)
	th.fl.progs.all[bad].mirrors = []*xlate.MirrorStats{nil}
	r := th.fl.rec(th.fl.tab.Value(refs[3]))
	r.prog, r.packets = bad, 1<<40
	start := passed()
	for range 1000 {
		d.clock.warp.Add(2000)
		th.iterate()
		th.asleep.Store(true) // as bare has it
		if passed() > start+2 {
			break
		}
	}
	if passed() <= start+2 {
		t.Error("the passes do not go on")
	}
	if r.prog == bad {
		t.Error("the megaflow is still there")
	}
}

// One in what control code asks for is told to it.
func TestPanicInCall(t *testing.T) {
	d, b := newSwitch(t)
	_, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	if d.running()[0].do(func() { panic("on purpose") }) {
		t.Error("a call that panicked is said to have been done")
	}
	if !d.running()[0].do(func() {}) {
		t.Error("a call after it is not done")
	}
	d1.send(udp(9, 1, 1, 2))
	want(t, "after a panic", got(t, d, d1, d2), "0 1 ")
}

// A thread that ends no iteration any more does not hide that.
func TestPanicForEver(t *testing.T) {
	d, b, th := bare(t)
	flowPair(t, b, th, 64, "in_port=1,actions=2", "in_port=2,actions=1")
	br := th.w.inUse[0]
	view := br.v
	br.v = nil
	defer func() {
		if r := recover(); r == nil || th.broken != brokenMost {
			t.Errorf("after %d broken iterations: %v", th.broken, r)
		}
		br.v = view
		th.asleep.Store(true)
	}()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); {
		d.clock.warp.Add(1)
		th.round = watchEvery - 1
		th.iterate()
		th.asleep.Store(true) // as bare has it
	}
}
