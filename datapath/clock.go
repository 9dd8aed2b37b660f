package datapath

import (
	"math/bits"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/internal/cpu"
)

// clock turns the processor's cycle counter into milliseconds since the
// datapath began: the one time that poll threads and control code share, so that
// the age of an address means the same to both.
type clock struct {
	base uint64 // cycle count at the beginning
	mul  uint64 // milliseconds per cycle, times 2^64
	warp atomic.Int64
}

func (c *clock) init() {
	c.base = cpu.Cycles()
	c.mul, _ = bits.Div64(1000, 0, cpu.HZ())
}

// at is the time of cycle count t.
func (c *clock) at(t uint64) int64 {
	ms, _ := bits.Mul64(t-c.base, c.mul)
	return int64(ms) + c.warp.Load()
}

// micros is at in microseconds.
func (c *clock) micros(t uint64) int64 {
	hi, lo := bits.Mul64(t-c.base, c.mul)
	frac, _ := bits.Mul64(lo, 1000)
	return int64(hi)*1000 + int64(frac) + c.warp.Load()*1000
}

func (c *clock) now() int64 { return c.at(cpu.Cycles()) }

// Warp moves the datapath's time forward, for tests that cannot wait for
// addresses to age. When it returns, all threads have the new time.
func (d *Datapath) Warp(ms int64) {
	d.clock.warp.Add(ms)
	d.control.tick()
	d.bonds.kick()
	d.Synchronize()
}

// minFlush is the shortest time between two invalidations of the caches that
// traffic caused, in milliseconds: a storm of moving addresses costs the
// flows that are not part of it twenty lookups a second each, not all they have.
const minFlush = 50

// lossGen counts the times that the threads' exact-match caches became invalid
// because an address was lost: it moved, expired, was evicted or removed.
// New addresses do not count: nothing that was decided before becomes wrong.
//
// What traffic causes is done at once or, when the last time was less than
// minFlush ago, when that time is over (flush). A decision that is
// older than a second is looked up again anyway.
type lossGen struct {
	gen     atomic.Uint32
	last    atomic.Int64 // time of the last one caused by traffic
	pending atomic.Bool
}

// now invalidates the caches.
func (l *lossGen) now() { l.gen.Add(1) }

// traffic invalidates the caches at time ms or soon.
func (l *lossGen) traffic(ms int64) {
	if last := l.last.Load(); ms-last >= minFlush && l.last.CompareAndSwap(last, ms) {
		l.gen.Add(1)
		return
	}
	if !l.pending.Load() {
		l.pending.Store(true)
	}
}

// flush does what traffic put off, if it is time.
func (l *lossGen) flush(ms int64) {
	if last := l.last.Load(); ms-last >= minFlush && l.last.CompareAndSwap(last, ms) {
		l.pending.Store(false)
		l.gen.Add(1)
	}
}
