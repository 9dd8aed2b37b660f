package datapath

import (
	"github.com/gvswitch/gvswitch/datapath/megaflow"
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
	"github.com/gvswitch/gvswitch/tso"
)

// mode is how a thread decides what becomes of a port's packets.
type mode uint8

const (
	modeNone  mode = iota // not known yet
	modeWords             // the bridge's only rule is NORMAL: by the first 16 bytes
	modeFixed             // the port is all that matters: one program for all
	modeFlows             // by megaflows
)

// portRun is that for one port. It holds while epoch is the thread's.
type portRun struct {
	br     *bridgeRun
	epoch  uint32
	mode   mode
	prog   int32 // of modeFixed, and what counts the packets of modeWords
	tags   uint64
	tokens int64 // misses that it may still cause
	filled int64 // ms
	slowAt int64 // time, and how many LACPDUs it gave to control code then
	slow   int32
}

// renew brings the way to decide for v up to date. in has counted n packets that are not decided
// yet.
func (t *thread) renew(v *portView, in *inCounters, n int) {
	pr := &t.pr[v.id]
	if pr.br == nil {
		pr.br = t.w.bridges[v.br.id]
	}
	if v.br.tables.Version() != pr.br.seen {
		t.see(pr.br)
	}
	if pr.epoch == t.ep.now {
		return
	}
	if pr.mode != modeNone {
		if tags, hard := t.ep.since(pr.epoch); !hard && tags&pr.tags == 0 {
			pr.epoch = t.ep.now
			return
		}
	}
	t.settle(v.id, in, n)
	old := pr.prog
	t.specialise(v, pr)
	if old != 0 {
		t.fl.progs.release(old)
	}
}

// specialise finds the shortest way to decide for v.
func (t *thread) specialise(v *portView, pr *portRun) {
	c := &t.w.flows
	pr.epoch, pr.prog, pr.tags = t.ep.now, 0, rules.TableTag(0)
	tables := v.br.tables
	version := tables.Version()
	k := &t.fl.one[0]
	*k = flow.Key{}
	if !c.NoWords && !v.of.NoRecv && !v.br.hashed && !v.lacp && !v.br.long && t.onlyNormal(tables, version, k, v) {
		pr.mode = modeWords
	} else {
		*k = flow.Key{}
		r := t.translate(k, v, packet.MinFrame, false)
		pr.tags |= r.Tags &^ macTag
		pr.mode = modeFlows
		if !r.Learns && portOnly(&r.Mask) && !c.NoFixed {
			pr.mode = modeFixed
			pr.prog = t.fl.progs.intern(r)
		}
	}
	if tables.Version() != version {
		pr.epoch-- // once more
	}
}

// onlyNormal tells whether one rule, whose only action is NORMAL, is for all packets of a port, and
// notes it in the port's program.
func (t *thread) onlyNormal(tables *rules.Tables, version uint64, k *flow.Key, v *portView) bool {
	f := t.fl
	f.okey = flow.Key{}
	k.SetInPort(uint32(v.ofPort))
	r := tables.Lookup(0, version, k, &f.okey, &f.scratch)
	if r == nil || !portOnly(&f.okey) || len(r.Actions) != 1 || r.Actions[0] != normal {
		return false
	}
	f.normal.Rules = append(f.normal.Rules[:0], r)
	f.normal.Actions = nil
	t.pr[v.id].prog = f.progs.intern(&f.normal)
	return true
}

// normal is what such a rule does.
var normal ofp.Action = ofp.Output{Port: ofp.PortNormal}

// portOnly tells whether nothing but the port was looked at.
func portOnly(m *flow.Key) bool {
	or := m[flow.WordPort] &^ portBits
	for _, w := range m[1:] {
		or |= w
	}
	return or == 0
}

// mayMiss takes one from what the port may cause.
func (t *thread) mayMiss(v *portView) bool {
	pr := &t.pr[v.id]
	rate := int64(t.w.flows.MissRate)
	if ms := t.ms; ms != pr.filled {
		pr.tokens = min(pr.tokens+(ms-pr.filled)*rate/1000, rate/2)
		pr.filled = ms
	}
	if pr.tokens <= 0 {
		return false
	}
	pr.tokens--
	return true
}

// forwardFixed does with the burst's first n packets, all alike, what the port's program says.
func (t *thread) forwardFixed(n int, shortest uint16, pr *portRun, in *inCounters) {
	q := t.fl.progs.all[pr.prog]
	t.fl.stats.fixed.Add(uint64(n))
	t.stats.fixed.Add(uint64(n))
	if t.flags != 0 || shortest < packet.MinFrame {
		for i := range n {
			p := &t.burst.Pkts[i]
			if !tso.Sanity(p) {
				t.refuse(in, p)
				continue
			}
			t.obey(i, q, in)
		}
		return
	}
	switch {
	case q.drop != packet.DropNone:
		t.dropBurst(in, q.drop, n)
	case q.only >= 0 && int(q.only) < len(t.tx) && t.tx[q.only] != nil:
		o := t.tx[q.only]
		in.forwarded.Add(uint64(n))
		in.copies.Add(uint64(n))
		t.list(o)
		k := o.n
		for i := range n {
			o.list[k&(listCap-1)] = uint16(i)
			k++
		}
		o.n = k
	default:
		for i := range n {
			t.exec(i, q.acts, q.meters, in)
		}
	}
}

// refuse counts a packet whose offload state is wrong: no rule has seen it.
func (t *thread) refuse(in *inCounters, p *packet.Packet) {
	t.drop(in, packet.RxBadOffload, p)
	in.skip(1, uint64(p.Len))
}

// obey does with packet i what a program says.
func (t *thread) obey(i int, q *program, in *inCounters) {
	if q.drop != packet.DropNone {
		if q.drop == packet.LACP {
			t.takeSlow(i, in)
			return
		}
		t.drop(in, q.drop, &t.burst.Pkts[i])
		return
	}
	t.exec(i, q.acts, q.meters, in)
}

// forwardFlows decides by megaflows about the burst's first n packets, in order.
func (t *thread) forwardFlows(v *portView, n int, in *inCounters) {
	f := t.fl
	m := 0
	for i := range n {
		p := &t.burst.Pkts[i]
		if t.flags != 0 && !tso.Sanity(p) {
			t.refuse(in, p)
			continue
		}
		flow.ExtractBase(p, &f.keys[m])
		f.at[m] = uint8(i)
		m++
	}
	if m == 0 {
		return
	}
	f.tab.Lookup(f.keys[:m], f.refs[:m])
	var (
		gen   = f.gen
		now   = uint32(t.ms)
		epoch = t.ep.now
		last  megaflow.Ref // the megaflow of the packet before; 0: none
		st    *megaflow.Stats
		q     *program
		o     *txPort // where q sends, if that is all
		done  uint64  // packets put on lists and not counted yet
	)
	for j := range m {
		i := int(f.at[j])
		p := &t.burst.Pkts[i]
		ref := f.refs[j]
		if ref == 0 || ref != last || f.gen != gen {
			if f.gen != gen || ref == 0 {
				// One of the packets before may have brought it, or taken it away.
				f.tab.Lookup(f.keys[j:j+1], f.refs[j:j+1])
				ref = f.refs[j]
			}
			var r *rec
			if ref != 0 {
				r = f.rec(f.tab.Value(ref))
				if r.epoch != epoch || r.flood {
					ref = t.check(ref, r, &f.keys[j], v, p.Len)
				}
			}
			if ref == 0 {
				in.forwarded.Add(done)
				in.copies.Add(done)
				done, last = 0, 0
				if ref = t.miss(i, &f.keys[j], v, in); ref == 0 {
					continue
				}
			}
			r = f.rec(f.tab.Value(ref))
			last, q, st, o = ref, f.progs.all[r.prog], f.tab.Stats(ref), nil
			if r.flood {
				last = 0
			}
			if q.only >= 0 && int(q.only) < len(t.tx) {
				o = t.tx[q.only]
			}
		}
		st.Touch(1, uint64(p.Len), now, f.keys[j].TCPFlags())
		if o != nil {
			k := o.n & (listCap - 1) // push left room for a burst
			o.list[k] = uint16(i)
			o.n = k + 1
			if k == 0 {
				t.list(o)
			}
			done++
			continue
		}
		in.forwarded.Add(done)
		in.copies.Add(done)
		done = 0
		t.obey(i, q, in)
	}
	in.forwarded.Add(done)
	in.copies.Add(done)
}

// enter decides about packet i, which came through a patch into v, and was counted in in. The
// packet is nobody else's.
func (t *thread) enter(i int, v *portView, in *inCounters) {
	f := t.fl
	pr := &t.pr[v.id]
	if pr.mode == modeFixed {
		t.obey(i, f.progs.all[pr.prog], in)
		return
	}
	p := &t.burst.Pkts[i]
	p.InPort = uint32(v.id)
	k := &f.one[0]
	flow.ExtractBase(p, k)
	f.tab.Lookup(f.one[:], f.oref[:])
	ref := f.oref[0]
	if ref != 0 {
		if r := f.rec(f.tab.Value(ref)); r.epoch != t.ep.now || r.flood {
			ref = t.check(ref, r, k, v, p.Len)
		}
	}
	if ref == 0 {
		if ref = t.miss(i, k, v, in); ref == 0 {
			return
		}
	}
	f.tab.Stats(ref).Touch(1, uint64(p.Len), uint32(t.ms), k.TCPFlags())
	t.obey(i, f.progs.all[f.rec(f.tab.Value(ref)).prog], in)
}
