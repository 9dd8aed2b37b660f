package datapath

import (
	"fmt"
	"runtime/debug"

	"github.com/gvswitch/gvswitch/datapath/megaflow"
	"github.com/gvswitch/gvswitch/internal/cpu"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// How far a poll is, for the recovery.
const (
	nothing = iota
	receiving
	forwarding
	releasing
	arming
)

// recoverBurst ends a poll that a fault interrupted: the memory of some port has
// vanished, of the one received from or of one sent to. (Or the switch has a bug:
// then the port received from is to blame, for lack of a better one.) It is
// deferred by the functions that touch foreign memory.
func (t *thread) recoverBurst() {
	if t.stage == nothing {
		return
	}
	r := recover()
	if r == nil {
		t.stage = nothing
		return
	}
	t.recovered(r)
}

func (t *thread) recovered(r any) {
	stage := t.stage
	t.stage = nothing
	if t.locked != nil {
		t.locked.unlock()
		t.locked = nil
	}
	var q *rxq
	if t.cur >= 0 && t.cur < len(t.w.rxqs) {
		q = t.w.rxqs[t.cur]
	}
	t.writeOff(q)

	guilty := t.portOf(q)
	reason := "memory vanished"
	if f, ok := r.(interface{ Addr() uintptr }); ok {
		if v := t.ownerOf(f.Addr()); v != nil {
			guilty = v
		} else {
			reason = fmt.Sprintf("fault at %#x, in nobody's memory", f.Addr())
		}
	} else {
		reason = fmt.Sprintf("internal error: %v", r)
		t.d.log.Error("panic on a poll thread", "core", t.core, "panic", r, "stack", string(debug.Stack()))
	}
	if stage == forwarding && q != nil {
		t.release(q)
	}
	if guilty != nil {
		t.stopPort(guilty, reason)
	}
}

// brokenMost is how many iterations in a row may break off: a thread that comes to no end any more forwards
// nothing, and who runs the daemon can start it again.
const brokenMost = 100

// recoverIteration ends an iteration that a panic interrupted outside of a poll, which is a bug of the switch:
// in a pass over the megaflows, a call of control code, or what is done once a tick. The thread goes on; the
// megaflow that the pass was at is taken out. A bug in what becomes of its packets stops their port as soon as
// one comes.
func (t *thread) recoverIteration() {
	if t.whole {
		return
	}
	r := recover()
	if r == nil {
		return
	}
	t.d.log.Error("panic on a poll thread", "core", t.core, "panic", r, "stack", string(debug.Stack()))
	if t.broken++; t.broken >= brokenMost {
		panic(r)
	}
	t.asleep.Store(false)
	t.stage = nothing
	t.last = cpu.Cycles()
	if s := &t.fl.pass; s.at != 0 {
		t.discardFlow(s.at)
		s.at = 0
		if s.from == 0 {
			t.passDone()
		}
	}
}

// discardFlow takes out a megaflow of which nothing is sure.
func (t *thread) discardFlow(ref megaflow.Ref) {
	defer func() { _ = recover() }() // it stays, and the pass goes on behind it
	t.fl.remove(ref)
	t.fl.stats.removed.Add(1)
}

// writeOff counts all that the thread has in hand as lost and empties the lists.
func (t *thread) writeOff(q *rxq) {
	for k := range t.nDirty {
		o := t.tx[t.dirty[k]]
		o.listed = false
		o.c.copies.Add(uint64(o.n))
		o.n = 0
	}
	t.nDirty = 0
	for _, o := range t.tx {
		if o == nil {
			continue
		}
		o.c.Drops[packet.PortFault].Add(o.c.unaccounted())
		o.tc.in.drops[packet.PortFault].Add(o.tc.in.unaccounted())
	}
	if q != nil {
		q.in.drops[packet.PortFault].Add(q.in.unaccounted())
	}
}

// release gives q's loans back, which may fault too.
func (t *thread) release(q *rxq) {
	defer func() { _ = recover() }() // q's port is stopped already, or will fault again
	q.q.Release()
}

// portOf is the port of the queue polled, nil if none.
func (t *thread) portOf(q *rxq) *portView {
	if q == nil || int(q.id) >= len(t.w.ports) {
		return nil
	}
	return t.w.ports[q.id]
}

// ownerOf is the port whose device owns the memory at addr.
func (t *thread) ownerOf(addr uintptr) *portView {
	for _, v := range t.w.ports {
		if v != nil && v.faulter != nil && v.faulter.OwnsAddr(addr) {
			return v
		}
	}
	return nil
}

// stopPort makes the thread leave a port alone and tells control code, which takes
// it from the other threads.
func (t *thread) stopPort(v *portView, reason string) {
	for _, q := range t.w.rxqs {
		if q.id == v.id {
			q.dead = true
		}
	}
	if o := t.tx[v.id]; o.q != nil {
		o.q, o.why = nil, packet.PortFault
	}
	go t.d.portFault(v.port, v.dev, t.w.epoch, reason)
}

// portFault takes a port out of service. A device that can be faulted drops its
// peer and may be used again when it has another one; any other
// stays stopped until it is attached again. epoch is that of the snapshot in which it
// happened: what another thread saw of the same fault, and tells when the port
// serves its next peer already, is no news.
func (d *Datapath) portFault(p *Port, dev netdev.Device, epoch uint32, reason string) {
	d.mu.Lock()
	if p.gone || p.dev != dev || p.faulted || int32(epoch-p.faultAt) < 0 {
		d.mu.Unlock()
		return
	}
	p.faulted, p.fault = true, reason
	p.faults.Add(1) // the device is not closed before this is over
	defer p.faults.Done()
	d.apply()
	p.faultAt = d.epoch
	d.bonds.kick()
	d.mu.Unlock()
	if f, ok := dev.(netdev.Faulter); ok {
		f.Fault(reason)
		d.mu.Lock()
		if p.dev == dev {
			p.faulted = false
			d.apply()
		}
		d.mu.Unlock()
	}
	d.events.add(event{port: p, reason: reason})
}
