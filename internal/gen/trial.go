package gen

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// Trial is one measurement.
type Trial struct {
	Rate     float64       // frames per second of each port that sends; 0: as many as possible
	Duration time.Duration // of sending
	Count    uint64        // frames of each port, 0: as many as the duration allows
	Drain    time.Duration // the trial is over when nothing came for so long after the end of sending
	Progress func(Snapshot)
	Interval time.Duration // between calls of Progress
}

// Snapshot is how far a trial is.
type Snapshot struct {
	Elapsed time.Duration
	Ports   []PortCount
}

// PortCount is the counts of a port.
type PortCount struct {
	Sent, Refused, Received, Duplicate, Reordered, Corrupt uint64
}

// poll is how often a trial is looked at.
const poll = 2 * time.Millisecond

// longest is the end of a trial without a duration.
const longest = 1000 * time.Hour

// Run does a trial. It fails when a worker cannot work. When ctx ends, sending does, too, and the result is of what was sent until then; it comes with
// ctx's error.
func (b *Bench) Run(ctx context.Context, t Trial) (Result, error) {
	b.trial++
	var stop atomic.Bool
	workers := b.workers(&stop)
	for i := range b.ports.all {
		b.checkers[i].begin(b.trial)
		for _, r := range b.receivers[i] {
			r.stats = netdev.RxStats{}
			if r.mirror != nil {
				r.mirror.stats = netdev.TxStats{}
			}
		}
	}
	if t.Duration == 0 {
		t.Duration = longest
	}
	began := time.Now()
	start := b.at()
	end := start + b.clock.cycles(t.Duration)
	for _, senders := range b.senders {
		for i, s := range senders {
			s.begin(b.trial)
			s.pace = NewPacer(t.Rate/float64(len(senders)), b.clock.hz, b.cfg.Burst)
			s.pace.Start(start, end, share(t.Count, i, len(senders)))
			s.seenAt = start
			s.done.Store(t.Count > 0 && share(t.Count, i, len(senders)) == 0)
		}
	}
	done := b.start(workers)
	err := b.watch(ctx, t, began, workers)
	stop.Store(true)
	for range workers {
		<-done
	}
	b.ports.mu.Lock()
	b.ports.workers = nil
	b.ports.mu.Unlock()
	for _, w := range workers {
		err = errors.Join(err, w.err)
	}
	return b.result(t, b.took(t, start)), err
}

// took is how long sending took, or receiving if nothing is sent; not longer than it should, if that was said.
func (b *Bench) took(t Trial, start uint64) time.Duration {
	end := start
	if b.silent() {
		end = b.at()
	}
	for _, senders := range b.senders {
		for _, s := range senders {
			end = max(end, s.doneAt)
		}
	}
	took := b.clock.duration(end - min(start, end))
	if t.Count == 0 {
		took = min(took, t.Duration)
	}
	return took
}

// share is what the i-th of n gets of count.
func share(count uint64, i, n int) uint64 {
	return (count + uint64(n-1-i)) / uint64(n)
}

// begin forgets what was.
func (s *sender) begin(trial int) {
	if stream, ok := s.source.(*Stream); ok {
		stream.begin(trial)
	}
	s.stats = netdev.TxStats{}
	s.refused.Add(-s.refused.Load())
	s.skipped.Add(-s.skipped.Load())
	s.seen, s.filled, s.forgiven = 0, 0, 0
}

// start runs the workers; each sends to the channel at its end.
func (b *Bench) start(workers []*worker) <-chan struct{} {
	b.ports.mu.Lock()
	b.ports.workers = workers
	b.ports.mu.Unlock()
	done := make(chan struct{}, len(workers))
	for _, w := range workers {
		w.reload()
		go func() {
			w.run()
			done <- struct{}{}
		}()
	}
	return done
}

// watch waits until all is sent and has arrived, or does not come any more.
func (b *Bench) watch(ctx context.Context, t Trial, began time.Time, workers []*worker) (err error) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	over := ctx.Done()
	told := began
	var got uint64
	quiet := began                         // nothing came since
	looked := make([]uint64, len(workers)) // how often the workers had looked then
	for {
		select {
		case <-over:
			err, over = ctx.Err(), nil
			b.halt.Store(true)
		case <-tick.C:
		}
		for _, w := range workers {
			if w.over.Load() { // it cannot work
				return err
			}
		}
		now := time.Now()
		sending := !b.sent() || b.silent() && err == nil && now.Sub(began) < t.Duration
		if sending && t.Progress != nil && now.Sub(told) >= t.Interval {
			told = now
			t.Progress(b.snapshot(now.Sub(began)))
		}
		if n := b.received(); n != got || sending {
			got, quiet = n, now
			for i, w := range workers {
				looked[i] = w.turns.Load()
			}
		}
		if now.Sub(quiet) >= t.Drain && looking(workers, looked) {
			return err
		}
	}
}

// looking reports whether all workers have looked at their queues more often since then: they may have been kept from it.
func looking(workers []*worker, looked []uint64) bool {
	for i, w := range workers {
		if w.turns.Load() < looked[i]+enoughTurns {
			return false
		}
	}
	return true
}

const enoughTurns = 1000

// silent reports whether no port sends.
func (b *Bench) silent() bool { return len(b.senders[0])+len(b.senders[1]) == 0 }

// sent reports whether all is sent.
func (b *Bench) sent() bool {
	for _, senders := range b.senders {
		for _, s := range senders {
			if !s.done.Load() {
				return false
			}
		}
	}
	return true
}

func (b *Bench) received() (n uint64) {
	for i := range b.ports.all {
		n += b.checkers[i].Frames.Load()
	}
	return n
}

func (b *Bench) snapshot(elapsed time.Duration) Snapshot {
	s := Snapshot{Elapsed: elapsed}
	for i := range b.ports.all {
		c := b.checkers[i]
		n := PortCount{Received: c.Unique.Load(), Duplicate: c.Duplicate.Load(), Reordered: c.Reordered.Load(), Corrupt: c.Corrupt.Load()}
		for _, x := range b.senders[i] {
			n.Sent += x.stats.Packets.Load()
			n.Refused += x.refused.Load()
		}
		for _, r := range b.receivers[i] {
			if r.mirror != nil {
				n.Sent += r.mirror.stats.Packets.Load()
			}
		}
		s.Ports = append(s.Ports, n)
	}
	return s
}

// Learn lets a switch know the addresses of all that will be sent, at a rate that does not overrun it, and waits until it had the time.
func (b *Bench) Learn(ctx context.Context) error {
	burst := new(packet.Burst)
	for i, port := range b.ports.all {
		t := b.cfg.Traffic[i]
		if t == nil {
			continue
		}
		var stats netdev.TxStats
		for n := range t.places() {
			if n%packet.MaxBurst == 0 && n > 0 {
				if err := pause(ctx, time.Millisecond); err != nil {
					return err
				}
			}
			burst.Pkts[0].SetBytes(t.learnFrame(n))
			b.ports.sendOn(port, burst, &stats)
		}
	}
	if err := pause(ctx, learnTime); err != nil {
		return err
	}
	b.ports.empty(burst) // what the other side received of it is no part of a trial
	return nil
}

// learnTime is what a switch needs to take note of an address and forward by it.
const learnTime = 50 * time.Millisecond

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
