package datapath

import "github.com/gvswitch/gvswitch/pipeline/rules"

// macTag says, among the tags of a translation, that it depends on a MAC table: on what the
// addresses in its notes led to.
const macTag uint64 = 1 << 56

// portTag says that it depends on ports and settings, as all do.
const portTag uint64 = 1 << 57

var _ = [1]struct{}{}[(macTag|portTag)&^rules.FreeTags]

const (
	epochLog = 256 // epochs of which a thread knows what changed
	// bumpsMax is how many epochs may follow each other at once; beyond that there is one each millisecond.
	bumpsMax = 200
)

// epochs count the changes that a thread has seen, each with its tags. What was translated in an
// epoch holds if no later one has a tag of it. An epoch is hard if what was
// translated before must not be used at all: ports have gone.
type epochs struct {
	now      uint32 // never 0
	lastHard uint32
	log      [epochLog]uint64
	pending  uint64 // tags of changes that are no epoch yet
	tokens   int64
	refilled int64 // ms
	lossSeen uint32
}

// change notes that something with these tags has changed.
func (e *epochs) change(tags uint64, ms int64) {
	e.pending |= tags
	e.bump(ms)
}

// bump makes an epoch of what is pending, if it may.
func (e *epochs) bump(ms int64) {
	if e.pending == 0 {
		return
	}
	if ms != e.refilled {
		e.tokens = min(e.tokens+max(ms-e.refilled, 0), bumpsMax)
		e.refilled = ms
	}
	if e.tokens <= 0 {
		return
	}
	e.tokens--
	e.now++
	e.log[e.now%epochLog] = e.pending
	e.pending = 0
}

// hard makes a hard epoch.
func (e *epochs) hard() {
	e.now++
	e.log[e.now%epochLog] = ^uint64(0)
	e.lastHard = e.now
}

// since is what changed after epoch at.
func (e *epochs) since(at uint32) (tags uint64, hard bool) {
	hard = int32(e.lastHard-at) > 0
	if e.now-at >= epochLog {
		return ^uint64(0), hard
	}
	for ; at != e.now; at++ {
		tags |= e.log[(at+1)%epochLog]
	}
	return tags, hard
}

// watchChanges looks for changes, once an iteration: at one bridge at a time, for that of a burst is
// looked at anyway.
func (t *thread) watchChanges() {
	e := &t.ep
	if g := t.d.loss.gen.Load(); g != e.lossSeen {
		e.lossSeen = g
		if t.fl.tab.Len() > 0 {
			e.pending |= macTag
		}
	}
	if l := t.w.inUse; len(l) > 0 {
		b := l[t.round%uint32(len(l))]
		if b.v.tables.Version() != b.seen {
			t.see(b)
		}
	}
	e.bump(t.ms)
}

// lookAround sees all that has changed up to now, as an epoch.
func (t *thread) lookAround() {
	for _, b := range t.w.inUse {
		if b.v.tables.Version() != b.seen {
			t.see(b)
		}
	}
	t.ep.tokens = max(t.ep.tokens, 1)
	t.ep.bump(t.ms)
}

// see notes what has changed in a bridge's tables.
func (t *thread) see(b *bridgeRun) {
	v := b.v.tables.Version()
	t.ep.change(b.v.tables.ChangedSince(b.seen), t.ms)
	b.seen = v
}

// gone is called before the thread takes over snapshot w. Everything is to be asked again: at once if
// a port is not there any more, for another one may have its number.
func (t *thread) gone(w *work) {
	hard := false
	for id, v := range t.w.ports {
		hard = hard || v != nil && (id >= len(w.ports) || w.ports[id] == nil || w.ports[id].port != v.port)
	}
	for id := range t.pr {
		if n := t.pr[id].prog; n != 0 {
			t.fl.progs.release(n)
		}
	}
	clear(t.pr)
	if len(t.pr) < len(w.ports) {
		t.pr = make([]portRun, len(w.ports)+16)
	}
	rate := int64(w.flows.MissRate)
	for id := range t.pr {
		t.pr[id].tokens, t.pr[id].filled = rate/2, t.ms
	}
	for _, b := range w.inUse {
		b.seen = b.v.tables.Version()
	}
	if hard {
		t.ep.hard()
	} else {
		t.ep.pending = 0
		t.ep.now++
		t.ep.log[t.ep.now%epochLog] = ^uint64(0)
	}
}
