package datapath

import (
	"time"
)

// controlLoop is what the datapath does now and then on a goroutine of its own, so
// that no poll thread wakes up for it: addresses age, loads are measured.
type controlLoop struct {
	d    *Datapath
	quit chan struct{}
	done chan struct{}
	last time.Time // of the last load measurement
}

func (c *controlLoop) start(d *Datapath) {
	c.d = d
	c.quit, c.done = make(chan struct{}), make(chan struct{})
	c.last = time.Now()
	go c.run()
}

func (c *controlLoop) run() {
	defer close(c.done)
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-c.quit:
			return
		case <-t.C:
			c.tick()
		}
	}
}

func (c *controlLoop) stop() {
	close(c.quit)
	<-c.done
}

func (c *controlLoop) tick() {
	d := c.d
	d.tendFlows()
	d.mu.Lock()
	defer d.mu.Unlock()
	sec := uint32(d.clock.now() / 1000)
	expired := 0
	for _, b := range d.bridges {
		if age := b.cfg.aging(); sec >= age {
			expired += b.table.expire(sec - age)
		}
	}
	if expired > 0 {
		d.loss.now()
	}
	if time.Since(c.last) >= loadSeconds*time.Second {
		c.last = time.Now()
		d.measure()
	}
}

// measure notes the load of the last interval.
func (d *Datapath) measure() {
	for _, t := range d.threads {
		t.load.note(t.stats.busy.Load() + t.stats.idle.Load() + t.stats.sleepCycles.Load())
	}
	for _, p := range d.ports {
		if p == nil {
			continue
		}
		for _, q := range p.rxqs {
			q.load.note(q.busy.Load())
		}
	}
}
