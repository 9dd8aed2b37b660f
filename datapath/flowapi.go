package datapath

import (
	"fmt"
	"slices"
	"time"

	"github.com/gvswitch/gvswitch/datapath/megaflow"
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/odp"
)

// FlowConfig says how megaflows are kept.
type FlowConfig struct {
	Limit    int           // megaflows of each thread (other_config:flow-limit); 0: megaflow.DefaultLimit
	MaxIdle  time.Duration // until one without packets goes (other_config:max-idle); 0: DefaultMaxIdle
	MissRate int           // packets a second that may need translation, for each port and thread; 0: DefaultMissRate

	// For tests and measurements: ways to decide that are not to be used.
	NoCache bool // the signature cache of the megaflows
	NoFixed bool // fixed lists of ports
	NoWords bool // the short way of a bridge whose only rule is NORMAL

	idle uint32 // MaxIdle in ms
}

// Defaults of a FlowConfig's zero fields.
const (
	DefaultMaxIdle  = 10 * time.Second
	DefaultMissRate = 400_000
)

func (c *FlowConfig) complete() {
	if c.Limit == 0 {
		c.Limit = megaflow.DefaultLimit
	}
	if c.MaxIdle == 0 {
		c.MaxIdle = DefaultMaxIdle
	}
	if c.MissRate == 0 {
		c.MissRate = DefaultMissRate
	}
	c.idle = uint32(c.MaxIdle.Milliseconds())
}

func (c *FlowConfig) check() error {
	switch {
	case c.Limit < 0 || c.Limit > 1<<22:
		return fmt.Errorf("flow limit %d: not in 0..%d", c.Limit, 1<<22)
	case c.MaxIdle != 0 && (c.MaxIdle < 100*time.Millisecond || c.MaxIdle > 24*time.Hour):
		return fmt.Errorf("longest idle time %v: not in 100 ms .. 24 h", c.MaxIdle)
	case c.MissRate < 0:
		return fmt.Errorf("miss rate %d: negative", c.MissRate)
	}
	return nil
}

func (c *FlowConfig) cacheMode() megaflow.CacheMode {
	if c.NoCache {
		return megaflow.CacheOff
	}
	return megaflow.CacheAuto
}

// FlowConfig is the settings in force.
func (d *Datapath) FlowConfig() FlowConfig {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.flows
}

// SetFlowConfig changes how megaflows are kept. What is above a smaller limit goes when it is idle.
func (d *Datapath) SetFlowConfig(c FlowConfig) error {
	if err := c.check(); err != nil {
		return err
	}
	c.complete()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flows = c
	for _, t := range d.threads {
		t.do(func() {
			t.fl.tab.SetLimit(c.Limit)
			t.fl.tab.SetCache(c.cacheMode())
		})
	}
	d.apply()
	return nil
}

// running are the threads that there are now.
func (d *Datapath) running() []*thread {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.threads)
}

// SyncFlowStats returns when all threads have told the rules what they counted before the call.
// Megaflows then are what the rules of that time make of them.
func (d *Datapath) SyncFlowStats() {
	for _, t := range d.running() {
		t.syncFlows()
	}
}

// SyncFlowStats is that of the datapath.
func (b *Bridge) SyncFlowStats() { b.d.SyncFlowStats() }

// Megaflow is a megaflow of one thread.
type Megaflow struct {
	Thread         int        // its core, -1: not pinned
	Match          flow.Match // its in_port is the port's ID
	InPort         *Port      // nil: it has gone
	Packets, Bytes uint64
	Used           time.Duration // since the last packet
	TCPFlags       uint16        // of all its packets
	Actions        []odp.Action  // ports are IDs
}

// dumpSlice is how many megaflows are copied between two bursts.
const dumpSlice = 32

// DumpMegaflows lists the megaflows of all threads.
func (d *Datapath) DumpMegaflows() []Megaflow {
	var l []Megaflow
	for _, t := range d.running() {
		var refs [dumpSlice]megaflow.Ref
		for from, more := megaflow.Ref(0), true; more; {
			part := make([]Megaflow, dumpSlice)
			n := 0
			more = t.do(func() {
				f := t.fl
				n, from = f.tab.Scan(from, refs[:])
				for i, ref := range refs[:n] {
					m := &part[i]
					st := f.tab.Stats(ref)
					f.tab.Flow(ref, &m.Match.Key, &m.Match.Mask)
					m.Thread, m.Packets, m.Bytes, m.TCPFlags = t.core, st.Packets.Load(), st.Bytes.Load(), st.TCPFlags
					m.Used = time.Duration(uint32(d.clock.now())-st.Used) * time.Millisecond
					m.Actions = slices.Clone(f.progs.all[f.rec(f.tab.Value(ref)).prog].acts)
				}
			})
			l = append(l, part[:n]...)
			more = more && from != 0
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range l {
		l[i].InPort = d.port(uint16(l[i].Match.Key.InPort()))
	}
	return l
}

// PurgeMegaflows takes all megaflows out. What they counted is told to their rules.
func (d *Datapath) PurgeMegaflows() {
	for _, t := range d.running() {
		for from, more := megaflow.Ref(0), true; more; {
			more = t.do(func() {
				var refs [dumpSlice]megaflow.Ref
				n, next := t.fl.tab.Scan(from, refs[:])
				for _, ref := range refs[:n] {
					t.pushFlow(ref, t.fl.rec(t.fl.tab.Value(ref)))
					t.fl.remove(ref)
				}
				from = next
			})
			more = more && from != 0
		}
	}
}

// SubtableInfo is a mask that megaflows of a thread have.
type SubtableInfo struct {
	Thread int
	Mask   flow.Key
	Flows  int
	Hits   uint64
}

// SubtableInfo lists the subtables of all threads' megaflows, those with most hits first.
func (d *Datapath) SubtableInfo() []SubtableInfo {
	var l []SubtableInfo
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.threads {
		for _, s := range t.fl.tab.Subtables(nil) {
			l = append(l, SubtableInfo{t.core, s.Mask, int(s.Entries), s.Hits})
		}
	}
	return l
}

// CacheStats is what a thread's caches did since it started.
type CacheStats struct {
	Thread        int
	Limit         int
	Megaflows     int // now
	Masks         int // now
	Lookups       uint64
	CacheHits     uint64 // found by the signature cache
	MaskHits      uint64 // found by a subtable
	Misses        uint64
	Probes        uint64 // subtables asked
	CacheSlots    uint64 // of the signature cache, 0: bypassed
	Memory        uint64 // bytes of megaflows and caches
	Fixed         uint64 // packets of ports with a fixed list
	Translations  uint64 // of packets without a megaflow
	Revalidations uint64 // of megaflows, after changes
	Kept          uint64 // of those, that stayed as they were
	Removed       uint64 // that did not hold any more
	Evicted       uint64 // idle
	Full          uint64 // translations that could not be kept
	Refused       uint64 // packets dropped for too many misses
	Passes        uint64
}

// CacheStats says how each thread's packets were decided about.
func (d *Datapath) CacheStats() []CacheStats {
	d.mu.Lock()
	defer d.mu.Unlock()
	var l []CacheStats
	for _, t := range d.threads {
		c, s := t.fl.tab.Counters(), &t.fl.stats
		l = append(l, CacheStats{
			Thread: t.core, Limit: d.flows.Limit, Megaflows: int(c.Entries), Masks: int(c.Masks), Lookups: c.Lookups,
			CacheHits: c.CacheHits, MaskHits: c.MaskHits, Misses: c.Misses, Probes: c.Probes, CacheSlots: c.CacheSlots,
			Memory: c.Memory, Fixed: s.fixed.Load(), Translations: s.translations.Load(), Revalidations: s.again.Load(),
			Kept: s.kept.Load(), Removed: s.removed.Load(), Evicted: s.evicted.Load(), Full: s.full.Load(),
			Refused: s.refused.Load(), Passes: s.passes.Load(),
		})
	}
	return l
}
