package gen

import (
	"runtime"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/internal/cpu"
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// sender sends a Source's frames to one queue of a port.
type sender struct {
	port   *Port
	number int // of the queue
	tx     netdev.TxQueue
	source Source
	pace   Pacer
	burst  *packet.Burst
	stats  netdev.TxStats

	refused mem.Counter // frames that were due and that the queue had no room for; without a rate they are not counted
	skipped mem.Counter
	done    atomic.Bool
	doneAt  uint64 // when, once done

	window   uint64       // frames under way at most, 0 for any number
	came     *mem.Counter // how many of them came
	top      *mem.Counter // the highest number of these, nil if it is not known
	filled   uint64       // numbers given out
	seen     uint64       // of came
	seenAt   uint64       // when that last grew
	forgiven uint64       // frames that are taken for lost
}

// receiver takes what one queue of a port receives.
type receiver struct {
	port   *Port
	number int
	rx     netdev.RxQueue
	check  *Checker
	burst  *packet.Burst
	stats  netdev.RxStats
	mirror *reflector // nil: nothing is sent back
}

// worker polls some queues.
type worker struct {
	cpu       int // to run on, -1 for any
	clock     Clock
	ports     *Ports
	senders   []*sender
	receivers []*receiver
	stop      *atomic.Bool
	halt      *atomic.Bool  // send no more
	at        func() uint64 // the counter

	turns mem.Counter

	seen atomic.Uint64 // which of the ports' states it works with
	over atomic.Bool
	err  error
}

// everything is a list of all packets of a burst.
var everything = func() (list [packet.MaxBurst]uint16) {
	for i := range list {
		list[i] = uint16(i)
	}
	return list
}()

// run works until told to stop.
func (w *worker) run() {
	runtime.LockOSThread() // for ever: a pinned thread is of no use to others
	defer w.over.Store(true)
	if w.cpu >= 0 {
		if w.err = cpu.Pin(w.cpu); w.err != nil {
			return
		}
	}
	for !w.stop.Load() {
		w.turn()
	}
}

// turn polls each queue once.
func (w *worker) turn() {
	w.turns.Add(1)
	if state := w.ports.state.Load(); state != w.seen.Load() {
		w.reload()
		w.seen.Store(state)
	}
	now := w.at()
	for _, s := range w.senders {
		if !s.done.Load() {
			s.send(now, w.clock)
			if w.halt.Load() && !s.done.Load() {
				s.end(now)
			}
		}
	}
	for _, r := range w.receivers {
		if r.rx == nil {
			continue
		}
		if n := r.rx.Recv(r.burst, &r.stats); n > 0 {
			r.check.Look(r.burst, n, w.clock.ticks(w.at()))
			if r.mirror != nil {
				r.mirror.back(r.burst, n)
			}
			r.rx.Release()
		}
	}
}

// reload takes the ports' queues as they are now.
func (w *worker) reload() {
	for _, s := range w.senders {
		s.tx = nil
		if q := s.port.queues.Load(); s.number < len(q.tx) {
			s.tx = q.tx[s.number]
		}
	}
	for _, r := range w.receivers {
		r.rx = nil
		if q := r.port.queues.Load(); r.number < len(q.rx) {
			r.rx = q.rx[r.number]
		}
		if r.mirror != nil {
			r.mirror.tx = nil
			if q := r.port.queues.Load(); len(q.tx) > 0 {
				r.mirror.tx = q.tx[r.number%len(q.tx)]
			}
		}
	}
}

// send sends what is due.
func (s *sender) send(now uint64, clock Clock) {
	n := s.pace.Due(now, s.room(now, clock))
	if n == 0 {
		if s.pace.Done(now) {
			s.end(now)
		}
		return
	}
	if s.tx == nil {
		s.refuse(n)
		return
	}
	s.source.Fill(s.burst, n, clock.ticks(now))
	s.filled += uint64(n)
	before := s.stats.Packets.Load()
	s.burst.Start(n)
	s.tx.Send(s.burst, everything[:n], &s.stats)
	if lost := n - int(s.stats.Packets.Load()-before); lost > 0 {
		s.refuse(lost)
	}
}

// end is the end of sending.
func (s *sender) end(now uint64) {
	s.skipped.Add(s.pace.Skipped())
	s.doneAt = now
	s.done.Store(true)
}

// refuse counts n frames that were due and could not be sent.
func (s *sender) refuse(n int) {
	s.pace.Return(n)
	if !s.pace.free {
		s.refused.Add(uint64(n))
	}
}

// room is how many frames may be sent so that there are not too many under way. Lost ones are under way no longer: on a path that keeps order, all
// that is older than the last one that came; and everything when nothing comes for a while.
func (s *sender) room(now uint64, clock Clock) int {
	if s.window == 0 {
		return packet.MaxBurst
	}
	if came := s.came.Load(); came != s.seen {
		s.seen, s.seenAt = came, now
	}
	sent := s.stats.Packets.Load()
	under := sent - min(s.seen+s.forgiven, sent)
	if s.top != nil {
		under = min(under, s.filled-min(s.top.Load(), s.filled))
	}
	if under >= s.window {
		if now-s.seenAt > clock.hz/patience {
			s.forgiven += under
			s.seenAt = now
		}
		return 0
	}
	return int(min(s.window-under, packet.MaxBurst))
}

// patience is the part of a second after which frames under way are taken for lost.
const patience = 4
