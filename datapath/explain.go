package datapath

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/xlate"
)

// ExplainConfig says which packets are to be explained.
type ExplainConfig struct {
	Bridge *Bridge
	// Selector chooses packets as they come in to the bridge by one of its ports that is no patch; its in_port is the
	// OpenFlow number. nil: all.
	Selector *flow.Match
	// Names and DPNames are for the traces, see xlate.Trace. They must not change.
	Names   ofp.Names
	DPNames odp.Names
}

// Way is how it was found out what to do with a packet.
type Way uint8

// The ways.
const (
	WayCheck     Way = iota // not at all: what it asks for in offload work does not fit it
	WayWords                // the cache by first bytes, of a bridge whose only rule is NORMAL
	WayNormal               // by MAC table and VLANs: that cache did not know it
	WayFixed                // all packets of the port have the same list
	WaySignature            // a megaflow, found by the signature cache
	WaySubtable             // a megaflow, found by its subtable
	WayChanged              // a megaflow, which was translated anew for something had changed
	WayTranslate            // there was no megaflow: by translation
	WayRefused              // there was no megaflow, and the port causes too many translations
	numWays
)

var wayNames = [numWays]string{
	WayCheck:     "offload check",
	WayWords:     "words cache",
	WayNormal:    "MAC table",
	WayFixed:     "fixed list of the port",
	WaySignature: "signature cache",
	WaySubtable:  "subtable",
	WayChanged:   "megaflow translated again after a change",
	WayTranslate: "translation",
	WayRefused:   "none: too many misses",
}

func (w Way) String() string { return wayNames[w] }

// Explained is what happened to one packet.
type Explained struct {
	Time    time.Time
	Thread  int    // its core, -1: not pinned
	InPort  *Port  // where it came in
	Frame   []byte // its first bytes, as it came
	Len     uint32
	Key     flow.Key // its in_port is the OpenFlow number
	Way     Way
	Probes  int          // subtables asked
	Flow    *flow.Match  // the megaflow; its in_port is the port's ID. nil: none was used
	Packets uint64       // that the megaflow had before
	Actions []odp.Action // what was done; ports are IDs. nil: Way says it
	Trace   *xlate.Trace // of the tables at that moment
	Effects []Effect
}

// Effect is what became of a packet, or of part of it, at a port.
type Effect struct {
	Port  *Port
	Dir   Direction         // Out: sent by the port, In: come in by a port, and dropped
	Drop  packet.DropReason // DropNone: sent
	Count uint64
}

// Explanation goes on until it is closed. Next gives what it has found.
type Explanation struct {
	d    *Datapath
	x    *explainer
	Next <-chan *Explained
}

// explainer is its part that threads see.
type explainer struct {
	tables any // of the bridge: who it is
	cfg    ExplainConfig
	out    chan *Explained
	passed atomic.Uint64 // packets that were selected and not explained
}

const (
	maxExplainers = 4
	// A thread explains so many packets at once, then one each millisecond: each takes some 50 us.
	explainBurst = 16
)

// explaining is what a thread needs for it.
type explaining struct {
	done   int   // explained of late: less one each millisecond
	at     int64 // ms
	sel    map[*explainer]*selector
	before []effectCounts
	rx     effectCounts
}

// effectCounts is what was counted at a port.
type effectCounts struct {
	sent    uint64
	in, out [packet.NumDropReasons]uint64
}

// Explain has packets explained while they are forwarded. Until Close, those that the selector takes go by a slow way.
func (d *Datapath) Explain(c ExplainConfig) (*Explanation, error) {
	if c.Bridge == nil || c.Bridge.d != d {
		return nil, fmt.Errorf("explain: no bridge of this datapath")
	}
	if _, err := newSelector(c.Selector); err != nil {
		return nil, fmt.Errorf("explain: bridge %q: %w", c.Bridge.name, err)
	}
	x := &explainer{cfg: c, out: make(chan *Explained, 64), tables: c.Bridge.tables}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case c.Bridge.gone || d.closed:
		return nil, fmt.Errorf("explain: bridge %q: removed", c.Bridge.name)
	case len(d.explainers) >= maxExplainers:
		return nil, fmt.Errorf("explain: there are %d explanations already", maxExplainers)
	}
	d.explainers = append(d.explainers, x)
	err := d.observe()
	e := &Explanation{d: d, x: x, Next: x.out}
	if err != nil {
		e.close()
	}
	return e, err
}

// Passed is how many packets were selected and not explained, since there were too many.
func (e *Explanation) Passed() uint64 { return e.x.passed.Load() }

// BridgeGone tells whether the bridge has been removed.
func (e *Explanation) BridgeGone() bool {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	return e.x.cfg.Bridge.gone || e.d.closed
}

// Close ends it.
func (e *Explanation) Close() {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	e.close()
}

func (e *Explanation) close() {
	if i := slices.Index(e.d.explainers, e.x); i >= 0 {
		e.d.explainers = slices.Delete(e.d.explainers, i, i+1)
		_ = e.d.observe() // with one less nothing is allocated
	}
}

// port is that of a view.
func (t *thread) portOfID(id uint16) *Port {
	if int(id) < len(t.w.ports) && t.w.ports[id] != nil {
		return t.w.ports[id].port
	}
	return nil
}

// count notes what the thread has counted at all ports; what waits for them has been sent.
func (s *explaining) count(t *thread, in *inCounters) {
	if len(s.before) < len(t.tx) {
		s.before = make([]effectCounts, len(t.tx)+16)
	}
	load(&s.rx.in, &in.drops)
	for id, o := range t.tx {
		if o == nil {
			continue
		}
		c := &s.before[id]
		c.sent = o.c.Packets.Load()
		load(&c.in, &o.tc.in.drops)
		load(&c.out, &o.c.Drops)
	}
}

func load(to *[packet.NumDropReasons]uint64, from *[packet.NumDropReasons]mem.Counter) {
	for i := range from {
		to[i] = from[i].Load()
	}
}

// effects is what has been counted since then.
func (s *explaining) effects(t *thread, in *inCounters) []Effect {
	var l []Effect
	drops := func(id uint16, dir Direction, before *[packet.NumDropReasons]uint64, now *[packet.NumDropReasons]mem.Counter) {
		for i := range now {
			if n := now[i].Load() - before[i]; n != 0 {
				l = append(l, Effect{t.portOfID(id), dir, packet.DropReason(i), n})
			}
		}
	}
	drops(in.port, In, &s.rx.in, &in.drops)
	for id, o := range t.tx {
		if o == nil {
			continue
		}
		c := &s.before[id]
		if n := o.c.Packets.Load() - c.sent; n != 0 {
			l = append(l, Effect{t.portOfID(uint16(id)), Out, packet.DropNone, n})
		}
		drops(uint16(id), Out, &c.out, &o.c.Drops)
		if &o.tc.in != in {
			drops(uint16(id), In, &c.in, &o.tc.in.drops)
		}
	}
	return l
}
