package datapath

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gvswitch/gvswitch/internal/cpu"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/tso"
)

// thread is a poll thread: a goroutine that is locked to its OS thread and, if it
// has a core, pinned to it. What control code may touch is in the first part;
// the rest is the goroutine's own.
type thread struct {
	d        *Datapath
	core     int // -1: not pinned
	stopping atomic.Bool
	stopped  chan struct{}
	work     atomic.Pointer[work]
	waker    waker
	inbox    inbox
	stats    threadCounts
	base     ThreadStats // at the last clear, under Datapath.mu
	since    time.Time   // of the last clear, under Datapath.mu
	load     loadHistory // under Datapath.mu
	isolated bool        // under Datapath.mu

	callMu sync.Mutex
	call   atomic.Pointer[call]

	observed atomic.Pointer[observers]

	_      [64]byte
	loops  atomic.Uint64 // quiescent points passed
	asleep atomic.Bool   // holds nothing of any snapshot
	_      [64]byte

	w      *work
	obs    *observers // what observed says; nil: none
	burst  *packet.Burst
	cache  *cache
	tx     []*txPort // of w
	quiet  []uint32  // of each rx queue of w: polls since the last packet
	dirty  []uint16  // ports with packets on their lists: the first nDirty
	nDirty int
	ms     int64  // time of this iteration
	stamp  uint64 // see cache
	last   uint64 // cycle count at the end of the last iteration
	round  uint32 // iterations

	// Of the burst in hand.
	cur      int       // the rx queue that it is from, -1 none
	stage    int       // how far it is, see fault.go
	received int       // packets in it that are no clones
	flags    uint8     // offload state of all its packets together
	longest  uint32    // no packet of it is longer
	locked   *spinLock // held
	dec      decision

	// Flows.
	fl      *flows
	settled bool // all is told to the rules, and somebody else may have the queues
	ep      epochs
	pr      []portRun // by port id
	ex      execution
	now     uint64 // cycle count of this iteration

	explaining explaining

	seg     tso.Segmenter
	scratch *packet.Burst // segments on their way
	pieces  [packet.MaxBurst]uint16
	frames  [packet.MaxBurst][]byte // injected ones in hand
	first   injected                // of them
	whole   bool                    // the last iteration came to its end
	broken  int                     // iterations in a row that did not
	sleep   sleeper
}

// startThread makes a thread and returns when it runs, or why it cannot.
func (d *Datapath) startThread(core int) (*thread, error) {
	t := &thread{
		d:       d,
		core:    core,
		stopped: make(chan struct{}),
		burst:   new(packet.Burst),
		scratch: new(packet.Burst),
		cache:   new(cache),
		cur:     -1,
		since:   time.Now(),
	}
	fl, err := newFlows(d.flows)
	if err != nil {
		return nil, fmt.Errorf("poll thread: %w", err)
	}
	t.fl, t.ep.now, t.ep.tokens = fl, 1, bumpsMax
	if err := t.waker.open(); err != nil {
		return nil, fmt.Errorf("poll thread: %w", err)
	}
	t.stats.init()
	t.w = &work{}
	t.work.Store(t.w)
	started := make(chan error)
	go t.run(started)
	if err := <-started; err != nil {
		t.waker.close()
		return nil, fmt.Errorf("poll thread: %w", err)
	}
	return t, nil
}

// run is the thread. It never unlocks the OS thread, which ends with it: a
// pinned thread is of no use to anybody else.
func (t *thread) run(started chan<- error) {
	runtime.LockOSThread()
	if t.core >= 0 {
		if err := cpu.Pin(t.core); err != nil {
			started <- err
			return
		}
	}
	debug.SetPanicOnFault(true)
	t.sleep.init()
	started <- nil
	t.last = cpu.Cycles()
	for !t.stopping.Load() {
		t.iterate()
	}
	if w := t.work.Load(); w != t.w { // it slept; its queues may be somebody else's
		t.reload(w)
	}
	t.lastAccount()
	t.asleep.Store(true)
	t.sleep.close()
	close(t.stopped)
}

const (
	// quietAfter is how many empty polls make a queue quiet, quietEvery how often a
	// quiet queue is polled while others are busy: each iteration takes one
	// of that many groups. An iteration with a full burst from two queues takes
	// some 6 us, so the first frame after a silence waits for 100 us at most
	// in addition.
	quietAfter = 64
	quietEvery = 16
	// watchEvery is in how many iterations a busy thread looks once for what is not about the packets in
	// hand: changes of other bridges, a pass that is due.
	watchEvery = 8
)

// lastAccount tells the rules all that the thread has counted.
func (t *thread) lastAccount() {
	t.settled = false
	t.fl.pass.asked.Add(1)
	for !t.resting() {
		func() {
			t.whole = false
			defer t.recoverIteration()
			t.passSlice(0)
			t.whole = true
		}()
	}
	t.settleAll()
}

// iterate polls each queue once. Between iterations the thread holds nothing of
// a snapshot, which it reports by loops.
func (t *thread) iterate() {
	t.whole = false
	defer t.recoverIteration()
	t.loops.Store(t.loops.Load() + 1)
	if w := t.work.Load(); w != t.w {
		t.reload(w)
	}
	t.settled = false
	if o := t.observed.Load(); o != t.obs {
		t.obs = o
	}
	t.round++
	start := t.last
	t.tick(start)
	prev, got := start, 0
	rxqs := t.w.rxqs
	for i := range t.quiet { // not of rxqs: that would bring each one's line in
		if t.quiet[i] >= quietAfter && (uint32(i)+t.round)%quietEvery != 0 && t.sleep.busy {
			continue
		}
		q := rxqs[i]
		n := t.poll(i, q)
		if n == 0 {
			t.quiet[i]++
			continue
		}
		t.quiet[i] = 0
		got += n
		now := cpu.Cycles()
		q.busy.Add(now - prev)
		prev = now
		t.stats.bursts.Add(1)
		t.stats.perBurst.add(uint64(n))
	}
	if t.inbox.some.Load() {
		got += t.takeInbox()
	}
	if t.fl.pass.running || t.round%watchEvery == 0 || got == 0 {
		t.passSlice(got)
	} else if !t.fl.pass.worked {
		t.fl.pass.work()
	}
	if t.call.Load() != nil {
		t.answer()
	}
	t.last = cpu.Cycles()
	t.stats.iterations.Add(1)
	t.sleep.busy = got != 0
	if got == 0 {
		t.stats.idle.Add(t.last - start)
		t.rest(t.last)
	} else {
		t.sleep.idleSince = 0
		t.stats.worked(got, t.last-start)
		if t.w.mode == Timed {
			t.restTimed(got)
		}
	}
	t.whole, t.broken = true, 0
}

// tick sets what depends on time, once an iteration.
func (t *thread) tick(now uint64) {
	t.ms = t.d.clock.at(now)
	if t.d.loss.pending.Load() {
		t.d.loss.flush(t.ms)
	}
	t.now = now
	if t.round%watchEvery == 0 || !t.sleep.busy {
		t.watchChanges()
	}
	t.fl.budget = budget
	t.stamp = stampOf(t.w.epoch+t.d.loss.gen.Load(), uint32(t.ms/1000))
}

// reload takes over a new snapshot. Queues that were armed when the thread went to
// sleep, this one or the one that had them before, are disarmed; those that
// are no longer there must not be touched any more.
func (t *thread) reload(w *work) {
	if !t.settled { // the old queues are still this thread's: see synchronize
		t.settleAll()
	}
	t.gone(w)
	t.w = w
	t.tx = w.tx
	t.quiet = append(t.quiet[:0], make([]uint32, len(w.rxqs))...)
	if len(t.dirty) < len(w.tx) {
		t.dirty = make([]uint16, len(w.tx)+64)
	}
	t.wakeQueues()
}

// poll takes one burst from queue i of the snapshot through the switch.
func (t *thread) poll(i int, q *rxq) int {
	defer t.recoverBurst()
	if q.dead {
		return 0
	}
	t.cur, t.stage = i, receiving
	n := q.q.Recv(t.burst, &q.in.RxStats)
	if n == 0 {
		t.stage = nothing
		return 0
	}
	t.stage = forwarding
	t.burst.Start(n)
	t.forward(t.w.ports[q.id], n, &q.in)
	t.flush()
	t.stage = releasing
	q.q.Release()
	t.stage = nothing
	return n
}
