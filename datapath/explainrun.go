package datapath

import (
	"slices"
	"time"

	"github.com/gvswitch/gvswitch/datapath/megaflow"
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/xlate"
	"github.com/gvswitch/gvswitch/tso"
)

// What explaining a packet takes on a poll thread. It allocates, as nothing else there does: it is asked for by a person,
// and explaining bounds how often it is done.

// explain forwards the burst's first n packets, which came in at v and have been surveyed, one by one if there is one among
// them that is to be explained; if not, it reports false.
func (t *thread) explain(v *portView, n int, in *inCounters) bool {
	if t.w.bridges[v.br.id] == nil {
		return false
	}
	var asked [packet.MaxBurst]*explainer
	some := false
	for _, x := range t.obs.explains {
		if x.tables != any(v.br.tables) {
			continue
		}
		s := t.selectorOf(x)
		for i := range n {
			if asked[i] == nil && s.takes(t, &t.burst.Pkts[i]) {
				asked[i], some = x, true
			}
		}
	}
	if !some {
		return false
	}
	pr := &t.pr[v.id]
	for i := range n {
		x := asked[i]
		if x != nil && !t.mayExplain() {
			x.passed.Add(1)
			x = nil
		}
		if x == nil {
			t.step(i, v, pr, in, nil)
			continue
		}
		t.explainOne(x, i, v, pr, in)
	}
	return true
}

func (t *thread) selectorOf(x *explainer) *selector {
	s := t.explaining.sel[x]
	if s == nil {
		made, err := newSelector(x.cfg.Selector)
		if err != nil {
			return nil // Explain made one before
		}
		s = &made
		if t.explaining.sel == nil || len(t.explaining.sel) > 2*maxExplainers {
			t.explaining.sel = map[*explainer]*selector{}
		}
		t.explaining.sel[x] = s
	}
	return s
}

// mayExplain takes one from what the thread may explain.
func (t *thread) mayExplain() bool {
	e := &t.explaining
	if t.ms != e.at {
		e.done = int(max(int64(e.done)-(t.ms-e.at), 0))
		e.at = t.ms
	}
	if e.done >= explainBurst {
		return false
	}
	e.done++
	return true
}

// explainOne forwards packet i and tells x what happened. What waited is sent before and the packet's own after it, so that all
// that is counted meanwhile is its doing.
func (t *thread) explainOne(x *explainer, i int, v *portView, pr *portRun, in *inCounters) {
	p := &t.burst.Pkts[i]
	e := &Explained{Time: time.Now(), Thread: t.core, InPort: v.port, Len: p.Len}
	flow.ExtractBase(p, &e.Key)
	id := e.Key
	e.Key.SetInPort(uint32(v.ofPort))
	e.Frame = slices.Clone(p.Head())
	e.Trace = &xlate.Trace{Names: x.cfg.Names, DPNames: x.cfg.DPNames}
	t.fl.in.Trace = e.Trace
	t.translate(&id, v, p.Len, false)
	t.fl.in.Trace = nil
	t.flush()
	t.burst.Reclaim(t.received)
	t.explaining.count(t, in)
	t.step(i, v, pr, in, e)
	t.flush()
	t.burst.Reclaim(t.received)
	e.Effects = t.explaining.effects(t, in)
	select {
	case x.out <- e:
	default:
		x.passed.Add(1)
	}
}

// step forwards one packet of a burst as the rest of it would be, and tells e, if it is not nil, in which way.
func (t *thread) step(i int, v *portView, pr *portRun, in *inCounters, e *Explained) {
	p := &t.burst.Pkts[i]
	if !tso.Sanity(p) {
		t.refuse(in, p)
		return
	}
	switch pr.mode {
	case modeWords:
		w0, w1 := words(p)
		if e != nil {
			e.Way = WayNormal
			if _, ok := t.cache.get(w0, w1, t.stamp|uint64(v.id)); ok && p.HeadLen >= minTagged {
				e.Way = WayWords
			}
		}
		t.slow(i, v, in, w0, w1)
	case modeFixed:
		q := t.fl.progs.all[pr.prog]
		t.fl.stats.fixed.Add(1)
		t.stats.fixed.Add(1)
		if e != nil {
			e.Way, e.Actions = WayFixed, slices.Clone(q.acts)
		}
		t.obey(i, q, in)
	default:
		t.stepFlows(i, v, in, e)
	}
}

// stepFlows is step for a port that decides by megaflows.
func (t *thread) stepFlows(i int, v *portView, in *inCounters, e *Explained) {
	f := t.fl
	p := &t.burst.Pkts[i]
	k := &f.one[0]
	flow.ExtractBase(p, k)
	before, again, refused := f.tab.Counters(), f.stats.again.Load(), f.stats.refused.Load()
	f.tab.Lookup(f.one[:], f.oref[:])
	ref := f.oref[0]
	after := f.tab.Counters()
	way := WaySubtable
	if after.CacheHits != before.CacheHits {
		way = WaySignature
	}
	if ref != 0 {
		if r := f.rec(f.tab.Value(ref)); r.epoch != t.ep.now || r.flood {
			ref = t.check(ref, r, k, v, p.Len)
		}
		if f.stats.again.Load() != again {
			way = WayChanged
		}
	}
	if ref == 0 {
		way = WayTranslate
		ref = t.miss(i, k, v, in)
		if f.stats.refused.Load() != refused {
			way = WayRefused
		}
	}
	if e != nil {
		e.Way, e.Probes = way, int(after.Probes-before.Probes)
		t.noteFlow(e, ref)
	}
	if ref == 0 {
		return
	}
	f.tab.Stats(ref).Touch(1, uint64(p.Len), uint32(t.ms), k.TCPFlags())
	t.obey(i, f.progs.all[f.rec(f.tab.Value(ref)).prog], in)
}

// noteFlow tells e of the megaflow; 0: there was no room for one.
func (t *thread) noteFlow(e *Explained, ref megaflow.Ref) {
	if ref == 0 {
		return
	}
	f := t.fl
	e.Flow = &flow.Match{}
	f.tab.Flow(ref, &e.Flow.Key, &e.Flow.Mask)
	e.Packets = f.tab.Stats(ref).Packets.Load()
	e.Actions = slices.Clone(f.progs.all[f.rec(f.tab.Value(ref)).prog].acts)
}
