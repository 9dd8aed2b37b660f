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
	return r
}

// takeSlow gives packet i, which came in by a member of a bond with LACP, to control code.
func (t *thread) takeSlow(i int, in *inCounters) {
	p := &t.burst.Pkts[i]
	pr := &t.pr[p.InPort]
	if w := t.ms >> slowWindow; pr.slowAt != w {
		pr.slowAt, pr.slow = w, 0
	}
	n := min(int(p.Len), lacp.FrameLen)
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
