package datapath

import (
	"slices"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/lacp"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/xlate"
)

// slowFrame is a frame of slow protocols on its way from a poll thread to control code.
type slowFrame struct {
	port uint16
	n    uint8
	b    [lacp.FrameLen]byte
}

// What a port may give to control code: slowMax frames in each 2^slowWindow milliseconds. LACP's own limit is three
// in a second.
const (
	slowMax    = 16
	slowWindow = 7
)

// slowTaken is the translation of what is for LACP: no rule sees it.
func slowTaken() *xlate.Result {
	r := &xlate.Result{Actions: []odp.Action{{Op: odp.Drop, Reason: packet.LACP}}, Why: packet.LACP}
	r.Mask[flow.WordPort] = portBits
	r.Mask[flow.WordSrc] = typeBits
	r.Mask[flow.WordDst] = dstBits
	r.Mask[flow.WordVLAN] = flow.TagPresent
	return r
}

// dstBits is the destination in its word, slowAddress the value that slow protocols have there.
const (
	dstBits     = 0xffffffffffff << 16
	slowAddress = 0x0180c2000002 << 16
)

// slow tells whether a packet may be one of LACP (IEEE 802.1AX-2020 6.2.3: no tag, and the address of slow
// protocols, or the port's own). takeSlow looks at the rest.
func (v *portView) slow(k *flow.Key) bool {
	if k.EthType() != lacp.EtherType || k[flow.WordVLAN]&flow.TagPresent != 0 {
		return false
	}
	dst := k[flow.WordDst] & dstBits
	return dst == slowAddress || dst == v.ownMAC
}

// takeSlow gives packet i, which came in by a member of a bond with LACP, to control code if it is one of LACP's
// or a marker. The tables decide about other slow protocols.
func (t *thread) takeSlow(i int, in *inCounters) {
	p := &t.burst.Pkts[i]
	pr := &t.pr[p.InPort]
	if w := t.ms >> slowWindow; pr.slowAt != w {
		pr.slowAt, pr.slow = w, 0
	}
	n := min(int(p.Len), lacp.FrameLen)
	if p.Pull(n) && n > packet.MinFrame && !lacp.Takes(p.Head()[:n]) {
		t.pass(i, in)
		return
	}
	if pr.slow >= slowMax || !p.Pull(n) {
		t.drop(in, packet.LACPRate, p)
		return
	}
	pr.slow++
	f := slowFrame{port: uint16(p.InPort), n: uint8(n)}
	copy(f.b[:], p.Head()[:n])
	select {
	case t.d.bonds.slow <- f:
		t.drop(in, packet.LACP, p)
	default:
		t.drop(in, packet.LACPRate, p)
	}
}

// pass asks the tables about packet i, for which no megaflow is kept.
func (t *thread) pass(i int, in *inCounters) {
	f := t.fl
	p := &t.burst.Pkts[i]
	v := t.w.ports[p.InPort]
	if !t.mayMiss(v) {
		f.stats.refused.Add(1)
		t.drop(in, packet.MissRate, p)
		return
	}
	f.stats.translations.Add(1)
	flow.ExtractBase(p, &f.one[0])
	prog := f.progs.intern(t.ask(&f.one[0], v, p.Len, true))
	q := f.progs.all[prog]
	q.count(1, uint64(p.Len), t.ms)
	t.obey(i, q, in)
	f.progs.release(prog)
}

// receiveSlow takes a frame from a poll thread. d.mu is held.
func (d *Datapath) receiveSlow(f *slowFrame) {
	p := d.port(f.port)
	if p == nil || p.bond == nil {
		return // it is none any more
	}
	for _, m := range p.bond.members {
		if m.p != p || m.lacp == nil {
			continue
		}
		if answer := lacp.AnswerMarker(f.b[:f.n], m.address()); answer != nil {
			if d.peerOf(p) == nil {
				p.emit(answer)
			}
			return
		}
		pdu, err := lacp.ParseFrame(f.b[:f.n])
		if err != nil {
			m.lacp.Bad()
			return
		}
		m.lacp.Receive(&pdu, d.clock.now())
	}
}

// sendPDU sends what LACP wants to say. What would pass a patch is given to the bond behind it: there
// is no link that could fail. d.mu is held.
func (o *Bond) sendPDU(lp *lacp.Port, pdu *lacp.PDU) {
	for _, m := range o.members {
		switch q := o.d.peerOf(m.p); {
		case m.lacp != lp:
		case q != nil && q.bond != nil:
			if n := q.bond.member(q.name); n != nil && n.lacp != nil {
				n.lacp.Receive(pdu, o.d.clock.now())
				o.d.bonds.kick()
			}
		case q == nil:
			m.p.emit(pdu.AppendFrame(make([]byte, 0, lacp.FrameLen), m.address()))
		}
	}
}

// word is an address as a key has a destination.
func word(a [6]byte) uint64 {
	return uint64(a[0])<<56 | uint64(a[1])<<48 | uint64(a[2])<<40 | uint64(a[3])<<32 | uint64(a[4])<<24 | uint64(a[5])<<16
}

// address is where a member's frames come from.
func (m *bondMember) address() [6]byte {
	if m.p.dev != nil {
		if mac := m.p.dev.Info().MAC; len(mac) == 6 {
			return [6]byte(mac)
		}
	}
	return [6]byte{2, 'g', 'v', 0, byte(m.p.id >> 8), byte(m.p.id)}
}

// emit sends a frame out of the port by way of a poll thread, and reports whether there was room for it. The frame
// is the datapath's then. d.mu is held.
func (p *Port) emit(frame []byte) bool {
	d := p.d
	if p.gone || len(d.threads) == 0 {
		return false
	}
	t := d.threads[0]
	if len(p.rxqs) > 0 && p.rxqs[0].owner != nil {
		t = p.rxqs[0].owner
	}
	out := ofp.Output{Port: uint32(p.cfg.OFPort)}
	if !t.inbox.put(injected{port: p.id, frame: frame, out: true, actions: []ofp.Action{out}, inOF: ofp.PortController}) {
		return false
	}
	p.counters.injected++
	t.wake()
	return true
}

// member finds a member by its port's name, nil if there is none.
func (o *Bond) member(name string) *bondMember {
	if i := slices.IndexFunc(o.members, func(m *bondMember) bool { return m.p.name == name }); i >= 0 {
		return o.members[i]
	}
	return nil
}
