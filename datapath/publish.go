package datapath

import (
	"runtime"
	"slices"
	"time"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// work is one thread's snapshot of the configuration: what it polls and where it
// sends. It never changes after publication; the things it points to
// that do (rxq, txPort) are the thread's own.
type work struct {
	epoch    uint32
	mode     SleepMode
	sleepMax time.Duration
	paused   bool // take nothing: rxqs is empty, and what was injected waits
	rxqs     []*rxq
	tx       []*txPort    // by port id
	ports    []*portView  // by port id; nil: no port
	bridges  []*bridgeRun // by bridge id; nil: no bridge with ports
	inUse    []*bridgeRun // those that there are
	bonds    []*Bond      // by id; nil: none
	flows    FlowConfig
}

// apply publishes the present configuration and returns when no thread uses an
// older one. d.mu is held.
//
// A queue that changes threads is first taken from the old one, so that
// there is never a moment when two poll it and frames keep their order.
func (d *Datapath) apply() {
	gone, fresh := d.refreshQueues()
	ports := d.views()
	d.epoch++
	var next map[*thread][]*rxq
	if d.replan || fresh || len(gone) > 0 {
		next = d.assign()
	} else {
		next = d.assigned()
	}
	d.replan = false
	moved := false
	for _, t := range d.threads {
		for _, q := range next[t] {
			moved = moved || q.owner != nil && q.owner != t
		}
	}
	if moved {
		d.publish(ports, func(t *thread) []*rxq {
			return slices.DeleteFunc(slices.Clone(next[t]), func(q *rxq) bool {
				return q.owner != nil && q.owner != t
			})
		})
	}
	d.publish(ports, func(t *thread) []*rxq { return next[t] })
	for t, l := range next {
		for _, q := range l {
			q.owner = t
		}
	}
	for _, q := range gone {
		q.port.counters.past.addIn(&q.in)
	}
}

// publish gives every thread its snapshot and waits for all to use it.
func (d *Datapath) publish(ports []*portView, rxqs func(*thread) []*rxq) {
	for i, t := range d.threads {
		w := &work{epoch: d.epoch, mode: d.cfg.SleepMode, sleepMax: d.cfg.SleepMax, paused: d.paused, ports: ports}
		if !d.paused {
			w.rxqs = rxqs(t)
		}
		w.tx = d.txPorts(i, t, ports)
		w.flows = d.flows
		w.addBridges(t)
		w.bonds = d.bonds.byID()
		t.work.Store(w)
		t.wake()
	}
	d.synchronize()
}

// addBridges makes t's view of the bridges that have ports.
func (w *work) addBridges(t *thread) {
	for _, v := range w.ports {
		if v == nil {
			continue
		}
		for len(w.bridges) <= int(v.br.id) {
			w.bridges = append(w.bridges, nil)
		}
		if w.bridges[v.br.id] == nil {
			b := &bridgeRun{t: t, v: v.br}
			w.bridges[v.br.id] = b
			w.inUse = append(w.inUse, b)
		}
	}
}

// Synchronize returns when every poll thread has passed a point where it held
// nothing of the snapshot that was current at the call.
func (d *Datapath) Synchronize() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synchronize()
}

// Two iterations have to begin: at the beginning of the first one, a thread may still be telling rules what the
// old snapshot's queues counted.
func (d *Datapath) synchronize() {
	seen := make([]uint64, len(d.threads))
	for i, t := range d.threads {
		seen[i] = t.loops.Load()
	}
	for i, t := range d.threads {
		for k := 0; t.loops.Load()-seen[i] < 2 && !t.asleep.Load(); k++ {
			if k < 20 {
				runtime.Gosched()
			} else {
				time.Sleep(20 * time.Microsecond)
			}
		}
	}
}

// refreshQueues matches the ports' rx queues with what their devices have now. It
// returns those that are not in use any more, and whether there are new ones.
func (d *Datapath) refreshQueues() (gone []*rxq, fresh bool) {
	for _, p := range d.ports {
		if p == nil {
			continue
		}
		rx, tx := p.queues()
		old := p.rxqs
		p.rxqs = nil
		for i, q := range rx {
			k := slices.IndexFunc(old, func(r *rxq) bool { return r != nil && r.q == q })
			if k < 0 {
				p.rxqs = append(p.rxqs, newRxq(p, q, i))
				fresh = true
				continue
			}
			old[k].index = i
			p.rxqs = append(p.rxqs, old[k])
			old[k] = nil
		}
		for _, r := range old {
			if r != nil {
				gone = append(gone, r)
			}
		}
		locks := p.txLocks
		p.txLocks = nil
		for _, q := range tx {
			k := slices.IndexFunc(locks, func(l txLock) bool { return l.q == q })
			if k >= 0 {
				p.txLocks = append(p.txLocks, locks[k])
			} else {
				p.txLocks = append(p.txLocks, txLock{q, &spinLock{}})
			}
		}
	}
	return gone, fresh
}

// txPorts are thread i's outputs. A port with enough queues gives each thread
// its own; else threads share. The lock is taken whenever there is more than
// one thread: uncontended it costs a cycle a packet, and a queue may be
// handed on from one thread to another at any snapshot without more ado.
func (d *Datapath) txPorts(i int, t *thread, ports []*portView) []*txPort {
	l := make([]*txPort, len(ports))
	for id, v := range ports {
		p := d.ports[id]
		if v == nil {
			continue
		}
		tc := p.counters.of(t)
		o := &txPort{id: uint16(id), c: &tc.out, tc: tc, why: packet.TxNotReady}
		if !v.up {
			o.why = packet.PortDown
		} else if len(p.txLocks) > 0 {
			q := p.txLocks[i%len(p.txLocks)]
			o.q = q.q
			if len(d.threads) > 1 {
				o.lock = q.lock
			}
			o.limit(q.q.Caps(), p.dev.Info().MTU)
		}
		l[id] = o
	}
	return l
}

// limit sets what the receiver takes.
func (o *txPort) limit(c netdev.TxCaps, mtu int) {
	o.maxLen = packet.MaxFrame
	if c.MaxLen != 0 {
		o.maxLen = min(o.maxLen, c.MaxLen)
	}
	o.mtu = uint32(max(mtu, 0))
	o.easy = o.maxLen
	if mtu > 0 {
		o.easy = min(o.easy, uint32(mtu)+frameExtra)
	}
	o.csum, o.ecn = c.Csum, c.ECN
	for _, g := range []struct {
		ok bool
		t  packet.GSOType
	}{{c.TSO4, packet.GSOTCPv4}, {c.TSO6, packet.GSOTCPv6}, {c.USO, packet.GSOUDPL4}} {
		if g.ok {
			o.gso |= 1 << g.t
		}
	}
	o.all = c.Csum && c.ECN && c.TSO4 && c.TSO6 && c.USO && o.maxLen == packet.MaxFrame && mtu == 0
}
