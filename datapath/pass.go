package datapath

import (
	"sync/atomic"

	"github.com/gvswitch/gvswitch/datapath/megaflow"
	"github.com/gvswitch/gvswitch/internal/cpu"
	"github.com/gvswitch/gvswitch/packet"
)

// pass is a thread's walk over its megaflows, a slice of it in each iteration: it gives counts to
// rules, keeps addresses fresh, translates again what may have changed, and takes out what is
// idle. One begins every second while there is anything to do, at once after a change, and when control
// code asks for it.
type pass struct {
	running bool
	from    megaflow.Ref
	epoch   uint32 // when it began
	done    uint32 // epoch when the last complete one began
	began   int64  // ms
	serving uint32 // the request that it serves
	refs    [32]megaflow.Ref
	at      megaflow.Ref // in hand, 0: none
	worked  bool         // packets came since the last one began

	asked  atomic.Uint32 // requests by control code
	served atomic.Uint32 // of those, done
	due    atomic.Bool   // there is something for a pass to do: control code wakes a sleeping thread once a second
}

const (
	passEvery = 1000 // ms
	// The part of each iteration that a pass may take: some 15 us while there are packets, more if
	// there are none.
	passBusy = 66_000
	passIdle = 10
	// budget is how many megaflows an iteration translates again because packets came for them.
	budget = 24
)

// passSlice goes on with a pass, or begins one, if it is time.
func (t *thread) passSlice(got int) {
	f := t.fl
	s := &f.pass
	if got != 0 && !s.worked {
		s.work()
	}
	if !s.running {
		asked := s.asked.Load()
		if asked == s.served.Load() && (s.done == t.ep.now || f.tab.Len() == 0) &&
			(t.ms-s.began < passEvery || !s.worked && f.tab.Len() == 0) {
			return
		}
		t.lookAround()
		s.running, s.from, s.epoch, s.began, s.serving = true, 0, t.ep.now, t.ms, asked
		s.worked = false
		t.settleAll()
		if f.tab.Len() == 0 {
			t.passDone()
			return
		}
	}
	limit := uint64(passBusy)
	if got == 0 {
		limit *= passIdle
	}
	for start := cpu.Cycles(); ; {
		var n int
		n, s.from = f.tab.Scan(s.from, s.refs[:])
		for _, s.at = range s.refs[:n] {
			t.visit(s.at)
		}
		if s.at = 0; s.from == 0 {
			t.passDone()
			return
		}
		if cpu.Cycles()-start > limit {
			return
		}
	}
}

// work notes that packets came.
func (s *pass) work() {
	s.worked = true
	s.due.Store(true)
}

func (t *thread) passDone() {
	s := &t.fl.pass
	s.running = false
	s.done = s.epoch
	s.served.Store(s.serving)
	if !s.worked && t.fl.tab.Len() == 0 {
		s.due.Store(false)
	}
	t.fl.stats.passes.Add(1)
}

// resting tells whether the thread has nothing to do for its flows.
func (t *thread) resting() bool {
	s := &t.fl.pass
	return !s.running && s.asked.Load() == s.served.Load()
}

// visit is what a pass does for one megaflow.
func (t *thread) visit(ref megaflow.Ref) {
	f := t.fl
	r := f.rec(f.tab.Value(ref))
	st := f.tab.Stats(ref)
	seen := t.pushFlow(ref, r)
	if seen {
		t.refresh(r.notes[:])
		if f.progs.all[r.prog].learns || r.many {
			r.epoch = t.ep.now - epochLog - 1 // what it does has to be done again
			t.revisit(ref, r, true)
			return
		}
	} else if idle := uint32(t.ms) - st.Used; idle > t.w.flows.idle {
		f.remove(ref)
		f.stats.evicted.Add(1)
		return
	}
	if r.epoch == t.ep.now {
		return
	}
	tags, hard := t.ep.since(r.epoch)
	tags &= r.tags
	if !hard && tags&^macTag == 0 && (tags == 0 || !r.many && t.hold(r.notes[:])) {
		r.epoch = t.ep.now
		return
	}
	t.revisit(ref, r, false)
}

// revisit translates a megaflow again, and keeps it, changes it or takes it out.
func (t *thread) revisit(ref megaflow.Ref, r *rec, effects bool) {
	f := t.fl
	f.stats.again.Add(1)
	f.tab.Flow(ref, &f.okey, &f.omask)
	id := f.okey.InPort()
	if int(id) < len(t.w.ports) && t.w.ports[id] != nil {
		v := t.w.ports[id]
		f.one[0] = f.okey
		x := t.translate(&f.one[0], v, packet.MinFrame, effects)
		// What was looked at must be what packets of the megaflow agree in.
		if f.mask == f.omask || f.tab.Counters().Overflows != 0 && within(&f.mask, &f.omask) {
			// When an address that packets came from has moved, the next one says where to.
			if t.hold(f.notes.list[:f.notes.n]) {
				t.replace(ref, r, f.progs.intern(x), x.Tags)
				return
			}
		}
	}
	f.remove(ref)
	f.stats.removed.Add(1)
}
