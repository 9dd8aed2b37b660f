package datapath

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/gvswitch/gvswitch/netdev"
)

// maxPorts is how many ports there can be, over all bridges: what the 16 bits
// for a port in an action and in the exact-match cache allow.
const maxPorts = 1 << 15

// Datapath is a set of bridges and the poll threads that serve them.
type Datapath struct {
	log   *slog.Logger
	clock clock
	loss  lossGen

	mu      sync.Mutex
	bridges map[string]*Bridge
	ports   []*Port // by id; nil: free
	byDev   map[netdev.Device]*Port
	threads []*thread
	cfg     ThreadConfig
	epoch   uint32 // of the last snapshot
	replan  bool   // the rx queues are to be dealt out anew
	paused  bool   // threads have nothing to do, see Conservation
	closed  bool
	gone    totals // what removed ports counted
	flows   FlowConfig

	captures   []*Capture
	explainers []*explainer

	events    events
	control   controlLoop
	bonds     bonds
	collector *Collector // nil: the collector is the runtime's own
}

var _ netdev.Host = (*Datapath)(nil)

// New starts a datapath without bridges: one poll thread, which is not pinned
// and sleeps when idle, and one goroutine for what happens now and then.
func New(c Config) *Datapath {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	d := &Datapath{
		log:     c.Log,
		bridges: map[string]*Bridge{},
		byDev:   map[netdev.Device]*Port{},
	}
	d.clock.init()
	d.flows.complete()
	d.loss.last.Store(-minFlush)
	d.events.init()
	d.control.start(d)
	d.bonds.start(d)
	// Without cores to pin to, nothing can fail but what is fatal anyway.
	if err := d.SetThreads(ThreadConfig{RxqIsolate: true}); err != nil {
		d.log.Error("no poll thread", "err", err)
	}
	return d
}

// Close stops the threads. All bridges must have been removed.
func (d *Datapath) Close() {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return
	}
	d.closed = true
	d.stopThreads(d.threads)
	d.threads = nil
	d.mu.Unlock()
	d.control.stop()
	d.bonds.stop()
	d.events.stop()
}

// AddBridge adds a bridge without ports. It fails if there is one of this name,
// or on a setting out of range.
func (d *Datapath) AddBridge(name string, c BridgeConfig) (*Bridge, error) {
	if err := c.check(name); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("bridge %q: the datapath is closed", name)
	}
	if d.bridges[name] != nil {
		return nil, fmt.Errorf("bridge %q: exists", name)
	}
	tables, err := newTables(c.FailMode, d.clock.now())
	if err != nil {
		return nil, fmt.Errorf("bridge %q: %w", name, err)
	}
	d.limitMemory(c.tableSize())
	b := &Bridge{d: d, name: name, cfg: c, table: newMACTable(c.tableSize(), &d.loss), id: d.freeBridgeID(), tables: tables}
	d.bridges[name] = b
	d.limitMemory(0) // with its flows
	return b, nil
}

// freeBridgeID is the lowest number that no bridge has.
func (d *Datapath) freeBridgeID() uint16 {
	taken := map[uint16]bool{}
	for _, b := range d.bridges {
		taken[b.id] = true
	}
	for id := uint16(0); ; id++ {
		if !taken[id] {
			return id
		}
	}
}

// Now is the datapath's time in milliseconds, the one that rules count in.
func (d *Datapath) Now() int64 { return d.clock.now() }

// Bridges lists the bridges in order of name.
func (d *Datapath) Bridges() []*Bridge {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := make([]*Bridge, 0, len(d.bridges))
	for _, b := range d.bridges {
		l = append(l, b)
	}
	slices.SortFunc(l, func(a, b *Bridge) int { return cmpString(a.name, b.name) })
	return l
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
