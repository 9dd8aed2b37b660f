package datapath

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/gvswitch/gvswitch/internal/cpu"
	"github.com/gvswitch/gvswitch/internal/mem"
)

// threadCounts is what a thread counts about itself. The thread is the only
// writer.
type threadCounts struct {
	iterations, busy, idle mem.Counter
	sleeps, sleepCycles    mem.Counter
	packets, bursts        mem.Counter
	recirc                 mem.Counter
	fixed                  mem.Counter // packets of ports with a fixed list
	slow, tableHits        mem.Counter // packets that the cache did not know; of those, sent to one port
	txPackets, txBatches   mem.Counter
	over200us, over1ms     mem.Counter
	longest                atomic.Uint64 // cycles; the only one that control code writes too
	since                  atomic.Uint64 // when the sleep that goes on began, 0: none
	cycles                 counterHist
	perBurst               counterHist
	perPacket              counterHist

	us200, ms1 uint64 // in cycles
}

type counterHist [HistogramBuckets]mem.Counter

func (h *counterHist) add(v uint64) { h[min(bits.Len64(v), HistogramBuckets-1)].Add(1) }

func (h *counterHist) load() (r Histogram) {
	for i := range h {
		r[i] = h[i].Load()
	}
	return r
}

func (s *threadCounts) init() {
	s.ms1 = cpu.HZ() / 1000
	s.us200 = cpu.HZ() / 5000
}

// worked notes an iteration that took cycles and brought packets.
func (s *threadCounts) worked(packets int, cycles uint64) {
	s.busy.Add(cycles)
	s.packets.Add(uint64(packets))
	s.cycles.add(cycles)
	s.perPacket.add(cycles / uint64(packets))
	if cycles > s.us200 {
		s.over200us.Add(1)
		if cycles > s.ms1 {
			s.over1ms.Add(1)
		}
		if cycles > s.longest.Load() {
			s.longest.Store(cycles)
		}
	}
}

// slept notes the end of a sleep at now.
func (s *threadCounts) slept(now uint64) {
	s.sleepCycles.Add(now - s.since.Load())
	s.since.Store(0)
	s.sleeps.Add(1)
}

func (s *threadCounts) load() ThreadStats {
	asleep := s.sleepCycles.Load()
	if since := s.since.Load(); since != 0 {
		asleep += cpu.Cycles() - since
	}
	r := ThreadStats{
		Iterations: s.iterations.Load(),
		Busy:       s.busy.Load(),
		Idle:       s.idle.Load(),
		Sleeps:     s.sleeps.Load(),
		SleepTime:  cpu.Duration(asleep),
		Packets:    s.packets.Load(),
		Bursts:     s.bursts.Load(),
		Recirc:     s.recirc.Load(),
		TableHits:  s.tableHits.Load(),
		TxPackets:  s.txPackets.Load(),
		TxBatches:  s.txBatches.Load(),
		Stalls: Stalls{
			Over200us: s.over200us.Load(),
			Over1ms:   s.over1ms.Load(),
			Longest:   cpu.Duration(s.longest.Load()),
		},
		Cycles:    s.cycles.load(),
		PerBurst:  s.perBurst.load(),
		PerPacket: s.perPacket.load(),
	}
	slow := s.slow.Load()
	r.CacheHits = r.Packets - min(slow, r.Packets)
	r.Misses = slow - min(r.TableHits, slow)
	return r
}

// counts are the thread's counters with what its megaflows counted among hits and misses: found by a
// subtable is a table hit, translated a miss. The Datapath's mu is held.
func (t *thread) counts() ThreadStats {
	r := t.stats.load()
	hits, misses := t.fl.tab.Counters().MaskHits, t.fl.stats.translations.Load()
	r.TableHits += hits
	r.Misses += misses
	r.CacheHits -= min(hits+misses, r.CacheHits)
	return r
}

// sub takes an earlier state off, but for what is no sum.
func (s *ThreadStats) sub(o *ThreadStats) {
	s.Iterations -= o.Iterations
	s.Busy -= o.Busy
	s.Idle -= o.Idle
	s.Sleeps -= o.Sleeps
	s.SleepTime -= min(o.SleepTime, s.SleepTime)
	s.Packets -= o.Packets
	s.Bursts -= o.Bursts
	s.Recirc -= o.Recirc
	s.CacheHits -= min(o.CacheHits, s.CacheHits)
	s.TableHits -= o.TableHits
	s.Misses -= min(o.Misses, s.Misses)
	s.TxPackets -= o.TxPackets
	s.TxBatches -= o.TxBatches
	s.Stalls.Over200us -= o.Stalls.Over200us
	s.Stalls.Over1ms -= o.Stalls.Over1ms
	for i := range s.Cycles {
		s.Cycles[i] -= o.Cycles[i]
		s.PerBurst[i] -= o.PerBurst[i]
		s.PerPacket[i] -= o.PerPacket[i]
	}
}

// Threads says what each poll thread did since it started or ClearThreadStats.
func (d *Datapath) Threads() []ThreadStats {
	d.mu.Lock()
	defer d.mu.Unlock()
	var l []ThreadStats
	for _, t := range d.threads {
		s := t.counts()
		s.sub(&t.base)
		s.Core = t.core
		s.Running = time.Since(t.since)
		l = append(l, s)
	}
	return l
}

// ClearThreadStats starts the threads' counters anew.
func (d *Datapath) ClearThreadStats() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.threads {
		t.base = t.counts()
		t.stats.longest.Store(0)
		t.since = time.Now()
	}
}
