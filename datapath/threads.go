package datapath

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gvswitch/gvswitch/internal/cpu"
	"github.com/gvswitch/gvswitch/packet"
)

func (c *ThreadConfig) check() error {
	allowed, err := cpu.Allowed()
	if err != nil {
		return fmt.Errorf("poll threads: %w", err)
	}
	for i, core := range c.CPUs {
		if !slices.Contains(allowed, core) {
			return fmt.Errorf("poll threads: CPU %d: not there, or not allowed to this process (allowed: %v)", core, allowed)
		}
		if slices.Contains(c.CPUs[:i], core) {
			return fmt.Errorf("poll threads: CPU %d: named twice", core)
		}
	}
	if c.SleepMode > Timed || c.Assign > RoundRobin {
		return fmt.Errorf("poll threads: sleep mode %d, assignment %d: unknown", c.SleepMode, c.Assign)
	}
	if c.SleepMode == Timed && (c.SleepMax <= 0 || c.SleepMax > 10*time.Millisecond) {
		return fmt.Errorf("poll threads: longest sleep %v: not in 1 us .. 10 ms", c.SleepMax)
	}
	return nil
}

// SetThreads makes the poll threads those of c and deals the rx queues out to them.
// When it fails the old ones go on. While threads come and go, for
// some hundred microseconds, no frames are taken from the devices; none are lost.
func (d *Datapath) SetThreads(c ThreadConfig) error {
	if err := c.check(); err != nil {
		return err
	}
	c.CPUs = slices.Clone(c.CPUs)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errors.New("poll threads: the datapath is closed")
	}
	want := c.CPUs
	if len(want) == 0 {
		want = []int{-1}
	}
	var next, started []*thread
	for _, core := range want {
		i := slices.IndexFunc(d.threads, func(t *thread) bool { return t.core == core })
		if i >= 0 {
			next = append(next, d.threads[i])
			continue
		}
		t, err := d.startThread(core)
		if err != nil {
			d.stopThreads(started)
			return err
		}
		next, started = append(next, t), append(started, t)
	}
	// The tx queues change hands: nobody sends until everybody knows.
	d.pause(true)
	var old []*thread
	for _, t := range d.threads {
		if !slices.Contains(next, t) {
			old = append(old, t)
		}
	}
	d.moveInboxes(old, next)
	d.threads, d.cfg, d.replan = next, c, true
	if err := d.observe(); err != nil {
		d.log.Error("captures see nothing of a new poll thread", "err", err)
	}
	d.pause(false)
	d.stopThreads(old)
	return nil
}

// pause makes all threads drop what they poll, or take it up again.
func (d *Datapath) pause(on bool) {
	d.paused = on
	d.apply()
}

// moveInboxes gives the frames that wait for threads that end to one that goes on.
func (d *Datapath) moveInboxes(old, next []*thread) {
	for _, t := range old {
		t.inbox.mu.Lock()
		frames := t.inbox.frames
		t.inbox.frames = nil
		t.inbox.some.Store(false)
		t.inbox.mu.Unlock()
		for _, f := range frames {
			if !next[0].inbox.put(f) {
				if p := d.port(f.port); p != nil {
					p.counters.outside[packet.RxQueueFull]++
					p.counters.injected--
				}
			}
		}
	}
}

// stopThreads ends threads that poll nothing any more, and keeps what they
// counted.
func (d *Datapath) stopThreads(l []*thread) {
	for _, t := range l {
		t.stopping.Store(true)
		t.wake()
		<-t.stopped
		t.waker.close()
		for _, p := range d.ports {
			if p != nil {
				p.counters.retire(t)
				for _, q := range p.rxqs {
					if q.owner == t {
						q.owner = nil
					}
				}
			}
		}
	}
}
