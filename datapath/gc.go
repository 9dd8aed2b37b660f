package datapath

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// Idle tells whether all poll threads sleep.
func (d *Datapath) Idle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.threads {
		if !t.asleep.Load() {
			return false
		}
	}
	return true
}

// A collection stops the poll threads for up to a millisecond, so the collector runs
// when that hurts nobody. The program turns it off (debug.SetGCPercent(-1)),
// sets a memory limit, at which the runtime collects whatever happens, and starts a
// Collector, which collects when the poll threads are idle and there is
// something to gain, and else when 70 % of the limit is reached. Poll threads
// allocate nothing, so with thrifty control code that is rare.

const (
	collectEvery = 2 * time.Second
	collectGain  = 4 << 20 // bytes allocated since the last collection that make one worthwhile
	collectPart  = 70      // percent of the limit
)

// Collector is the policy when to collect garbage.
type Collector struct {
	base     int64        // limit without tables
	reserved int64        // by Reserve; the datapath's mu is held
	limit    atomic.Int64 // in force
	quit     chan struct{}
	done     chan struct{}
}

// StartCollector takes the garbage collector over: it sets the memory limit to limit
// bytes beside the MAC tables, which may be larger than all else and are no garbage,
// and collects when all poll threads sleep, or the limit is near. It is called
// once.
func (d *Datapath) StartCollector(limit int64) *Collector {
	debug.SetGCPercent(-1)
	c := &Collector{base: limit, quit: make(chan struct{}), done: make(chan struct{})}
	d.mu.Lock()
	d.collector = c
	d.limitMemory(0)
	d.mu.Unlock()
	go c.run(collectEvery, d.Idle)
	return c
}

// limitMemory sets the memory limit to what it is to be with the tables that there
// are and one more of so many addresses. d.mu is held.
func (d *Datapath) limitMemory(size int) {
	if d.collector == nil {
		return
	}
	tables := macTableBytes(size) + d.collector.reserved
	for _, b := range d.bridges {
		tables += macTableBytes(b.table.max) + int64(b.tables.Rules())*ruleBytes
	}
	d.collector.allow(tables)
}

// ruleBytes is what a rule takes, roughly, with what replaces it while it is replaced.
const ruleBytes = 2 << 10

// Reserve raises the memory limit for control code that is about to use a lot: reading and changing many
// flows, say, which would otherwise spend its time with collections. release takes that back, and leaves what
// the rules that there are then need; it is called once.
func (d *Datapath) Reserve(bytes int64) (release func()) {
	d.reserve(bytes)
	return func() { d.reserve(-bytes) }
}

func (d *Datapath) reserve(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.collector != nil {
		d.collector.reserved += bytes
		d.limitMemory(0)
	}
}

// allow sets the limit to what it is with so many bytes of tables.
func (c *Collector) allow(tables int64) {
	if limit := c.base + tables; c.limit.Swap(limit) != limit {
		debug.SetMemoryLimit(limit)
	}
}

func (c *Collector) run(every time.Duration, idle func() bool) {
	defer close(c.done)
	t := time.NewTicker(every)
	defer t.Stop()
	read := func() (heap, total uint64) {
		s := []metrics.Sample{
			{Name: "/memory/classes/heap/objects:bytes"},
			{Name: "/memory/classes/total:bytes"},
			{Name: "/memory/classes/heap/released:bytes"},
		}
		metrics.Read(s)
		return s[0].Value.Uint64(), s[1].Value.Uint64() - s[2].Value.Uint64()
	}
	after, _ := read()
	for {
		select {
		case <-c.quit:
			return
		case <-t.C:
		}
		heap, total := read()
		if heap > after+collectGain && (idle() || total > uint64(c.limit.Load())/100*collectPart) {
			runtime.GC()
			after, _ = read()
		}
	}
}

// Stop gives the collector back to the runtime's own policy.
func (c *Collector) Stop() {
	close(c.quit)
	<-c.done
	debug.SetGCPercent(100)
	debug.SetMemoryLimit(math.MaxInt64)
}
