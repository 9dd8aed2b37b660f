package datapath

import (
	"fmt"
	"slices"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/xlate"
)

// TraceResult is what would become of a packet.
type TraceResult struct {
	Key     flow.Key // the packet's; its in_port is the OpenFlow number
	Mask    flow.Key // bits of it that the actions depend on
	Actions []odp.Action
	Why     packet.DropReason // if it is dropped
	Final   flow.Key          // at the end of the tables
	InPort  *Port             // nil if the number is no port's
}

// Trace says what would become of a packet with a key, whose in_port is an OpenFlow number, and
// of a length in bytes. Nothing is learned. tr, if not nil, gets an account.
func (b *Bridge) Trace(key flow.Key, length uint32, tr *xlate.Trace) TraceResult {
	d := b.d
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.bystander()
	run := t.bridge(b)
	x := xlate.New()
	in := &xlate.Input{Bridge: run, Key: key, Len: length, Now: t.ms, Trace: tr}
	r := x.Run(in)
	res := TraceResult{Key: key, Mask: r.Mask, Actions: slices.Clone(r.Actions), Why: r.Why, Final: r.Final}
	if n := key.InPort(); n <= 0xffff {
		res.InPort = b.ofport(uint16(n))
	}
	return res
}

// TraceFrame is Trace for a frame that comes in by the port with an OpenFlow number.
func (b *Bridge) TraceFrame(inOF uint32, frame []byte, tr *xlate.Trace) TraceResult {
	var p packet.Packet
	p.SetBytes(frame)
	p.InPort = inOF
	var k flow.Key
	flow.Extract(&p, &k)
	return b.Trace(k, p.Len, tr)
}

// bystander is a thread that does not run, with the present snapshot, for translations on behalf of control
// code. d.mu is held.
func (d *Datapath) bystander() *thread {
	t := &thread{d: d, fl: &flows{}, w: &work{ports: d.views()}, ms: d.clock.now()}
	t.w.addBridges(t)
	return t
}

// bridge is b as the thread sees it, even if it has no ports.
func (t *thread) bridge(b *Bridge) *bridgeRun {
	if int(b.id) < len(t.w.bridges) && t.w.bridges[b.id] != nil {
		return t.w.bridges[b.id]
	}
	return &bridgeRun{t: t, v: &bridgeView{table: b.table, id: b.id, name: b.name, tables: b.tables, byOF: map[uint32]*portView{}}}
}

// PacketOut does actions with a frame, as if it had come in by the port with the number inOF; that
// may be a number that no port has, as ofp.PortController. It fails if there is no port at all, or the poll
// thread has too much to do.
func (b *Bridge) PacketOut(frame []byte, inOF uint32, actions []ofp.Action) error {
	d := b.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if b.gone || len(b.ports) == 0 || len(d.threads) == 0 {
		return fmt.Errorf("bridge %q: no port", b.name)
	}
	if len(frame) < packet.MinFrame || len(frame) > packet.MaxFrame {
		return fmt.Errorf("bridge %q: frame of %d bytes: not in %d..%d", b.name, len(frame), packet.MinFrame, packet.MaxFrame)
	}
	p := b.ports[0]
	if inOF < ofp.PortMax || inOF == ofp.PortLocal {
		if q := b.ofport(uint16(inOF)); q != nil {
			p = q
		}
	}
	if actions == nil {
		actions = []ofp.Action{}
	}
	t := d.threads[0]
	if len(p.rxqs) > 0 && p.rxqs[0].owner != nil {
		t = p.rxqs[0].owner
	}
	if !t.inbox.put(injected{port: p.id, frame: slices.Clone(frame), out: true, actions: actions, inOF: inOF}) {
		return fmt.Errorf("bridge %q: too many packets wait", b.name)
	}
	p.counters.injected++
	t.wake()
	return nil
}

// packetOut does the actions of a packet-out with packet 0 of the burst, which is counted at port v.
func (t *thread) packetOut(v *portView, m *injected, in *inCounters) {
	f := t.fl
	p := &t.burst.Pkts[0]
	in.skip(1, uint64(p.Len))
	if v == nil || t.w.bridges[v.br.id] == nil {
		t.drop(in, packet.PortDown, p)
		return
	}
	p.InPort = uint32(v.id)
	t.survey(t.burst.Pkts[:1], uint32(v.id))
	t.received = 1
	f.notes.reset()
	f.in.Bridge = t.w.bridges[v.br.id]
	flow.Extract(p, &f.in.Key)
	f.in.Key.SetInPort(m.inOF)
	f.in.Len, f.in.Now, f.in.Effects, f.in.Actions = p.Len, t.ms, true, m.actions
	r := f.x.Run(&f.in)
	f.in.Actions = nil
	prog := f.progs.intern(r)
	q := f.progs.all[prog]
	q.count(1, uint64(p.Len), t.ms)
	t.obey(0, q, in)
	f.progs.release(prog)
}

// Coverage is how often things happened to the flows of all threads, by name.
func (d *Datapath) Coverage() map[string]uint64 {
	m := map[string]uint64{}
	for _, c := range d.CacheStats() {
		m["flow_translation"] += c.Translations
		m["flow_revalidation"] += c.Revalidations
		m["flow_kept"] += c.Kept
		m["flow_removed"] += c.Removed
		m["flow_evicted"] += c.Evicted
		m["flow_limit_hit"] += c.Full
		m["flow_miss_refused"] += c.Refused
		m["flow_pass"] += c.Passes
	}
	for i := range xlate.Coverage {
		c := &xlate.Coverage[i]
		m[c.Name] += c.Count.Load()
	}
	return m
}
