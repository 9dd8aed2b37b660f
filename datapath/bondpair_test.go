package datapath

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/internal/lacp"
	"github.com/gvswitch/gvswitch/packet"
)

// bondPair is two switches with a bond each, and wires between the members.
type bondPair struct {
	t    *testing.T
	side [2]*bonded
	cut  []bool // wires that carry nothing
}

func newBondPair(t *testing.T, wires int, a, b BondConfig) *bondPair {
	p := &bondPair{t: t, cut: make([]bool, wires)}
	for i, c := range []BondConfig{a, b} {
		if c.LACP != LACPOff {
			c.SystemID = net.HardwareAddr{2, 0, 0, 0, 1, byte(i)}
		}
		p.side[i] = newBonded(t, wires, c)
	}
	return p
}

// pump carries frames over the wires, and lets ms pass.
func (p *bondPair) pump(ms int64) {
	p.t.Helper()
	for ; ms > 0; ms -= 100 {
		for range 4 {
			for s, x := range p.side {
				for i, dev := range x.devs {
					out := dev.sent()
					if !p.cut[i] && len(out) > 0 {
						p.side[1-s].devs[i].send(out...)
					}
				}
				settle(p.t, x.devs...)
				settle(p.t, x.host)
			}
			time.Sleep(time.Millisecond)
		}
		for _, x := range p.side {
			x.d.Warp(100)
		}
	}
}

func (p *bondPair) negotiated(n int) bool {
	for _, x := range p.side {
		s := x.o.Status()
		k := 0
		for _, m := range s.Members {
			if m.Enabled {
				k++
			}
		}
		if !s.Negotiated || k != n {
			return false
		}
	}
	return true
}

// One link that only one side sees as lost, frames of every kind: each arrives once, none comes back.
func TestBondPair(t *testing.T) {
	for _, c := range []BondConfig{
		{Mode: BondTCP, LACP: LACPActive, LACPFast: true},
		{Mode: BondSLB, LACP: LACPActive, LACPFast: true},
		{Mode: BondActiveBackup, LACP: LACPActive, LACPFast: true},
		{Mode: BondActiveBackup},
	} {
		t.Run(fmt.Sprintf("%v lacp %d", c.Mode, c.LACP), func(t *testing.T) {
			b := c
			if c.LACP != LACPOff {
				b.LACP = LACPPassive
			}
			p := newBondPair(t, 3, c, b)
			p.pump(3000)
			if c.LACP != LACPOff && !p.negotiated(3) {
				t.Fatalf("not negotiated: %+v", p.side[0].o.Status())
			}
			p.exchange(1)
			if c.LACP == LACPOff {
				for i := range 2 {
					p.side[i].devs[0].setLink(p.side[i].d, false)
				}
				p.pump(100)
			} else {
				p.cut[0] = true // both carriers are still there
				p.pump(4000)
				if !p.negotiated(2) {
					t.Fatalf("after the cut: %+v", p.side[0].o.Status())
				}
			}
			p.exchange(500)
		})
	}
}

// balance-slb with a switch that knows of no bond.
func TestBondSLBPair(t *testing.T) {
	p := newBondPair(t, 3, BondConfig{Mode: BondSLB, Rebalance: time.Second}, BondConfig{})
	p.side[1].o.Remove() // that end is three ports
	p.exchange(1)
	for i := range 2 {
		p.side[i].devs[1].setLink(p.side[i].d, false)
	}
	p.pump(200)
	p.exchange(1000)
	for i := range 2 {
		p.side[i].devs[1].setLink(p.side[i].d, true)
	}
	p.pump(2000)
	p.exchange(2000)
}

// exchange has hosts talk to each other across the pair and counts what arrives.
func (p *bondPair) exchange(first int) {
	p.t.Helper()
	a, b := p.side[0].host, p.side[1].host
	a.sent()
	b.sent()
	for i := range 32 {
		a.send(eth(-1, first+i))
		b.send(eth(-1, first+100+i))
	}
	p.pump(100)
	if n, m := b.data(), a.data(); n != 32 || m != 32 {
		p.t.Errorf("32 broadcasts each way: %d and %d arrived", n, m)
	}
	for i := range 32 {
		a.send(eth(first+100+i, first+i), eth(first+200+i, first+i)) // known, unknown
		b.send(eth(first+i, first+100+i))
	}
	p.pump(100)
	if n, m := b.data(), a.data(); n != 64 || m != 32 {
		p.t.Errorf("64 and 32 unicast frames: %d and %d arrived", n, m)
	}
}

// balance-tcp spreads the connections of two hosts, and gives a member's buckets to others when it leaves; a megaflow has the ports
// in its mask.
func TestBondTCP(t *testing.T) {
	c := BondConfig{Mode: BondTCP, LACP: LACPActive, LACPFast: true, Rebalance: time.Second}
	p := newBondPair(t, 2, c, c)
	x := p.side[0]
	if n := x.out(udp(2, 1, 5, 80), eth(-1, 1)); !same(n, 0, 0) {
		t.Errorf("before LACP has found anybody: %v", n)
	}
	p.pump(3000)
	p.side[1].host.send(eth(-1, 2))
	p.pump(100)
	var frames [][]byte
	for i := range 200 {
		frames = append(frames, udp(2, 1, 1000+i, 80))
	}
	n := x.out(frames...)
	if n[0]+n[1] != 200 || min(n[0], n[1]) < 60 {
		t.Errorf("200 connections: %v", n)
	}
	x.devs[0].setLink(x.d, false)
	p.pump(200)
	if n := x.out(frames...); !same(n, 0, 200) {
		t.Errorf("after a link was lost: %v", n)
	}
	x.devs[0].setLink(x.d, true)
	p.pump(1000)
	if !p.negotiated(2) {
		t.Fatal("did not come back")
	}
	// All load is on one member: rebalancing moves some of it.
	for range 40 {
		for range 30 {
			x.host.send(frames...)
		}
		settle(t, x.host)
		x.d.SyncFlowStats()
		p.pump(100)
	}
	if n := x.out(frames...); n[0]+n[1] != 200 || min(n[0], n[1]) < 60 {
		t.Errorf("after rebalancing: %v", n)
	}
	load := 0
	for _, m := range x.o.Status().Members {
		load += len(m.Buckets)
	}
	if load < 50 {
		t.Errorf("load in %d buckets", load)
	}
}

// LACPDUs are taken whatever the flows say, and what is too much of them is dropped under another name.
func TestLACPFrames(t *testing.T) {
	x := newBonded(t, 2, BondConfig{LACP: LACPPassive, SystemID: net.HardwareAddr{2, 0, 0, 0, 9, 9}, FallbackAB: true})
	pdu := (&lacp.PDU{Actor: lacp.Info{System: [6]byte{2, 1}, Port: 1, State: lacp.Activity}}).AppendFrame(nil, [6]byte{2, 1})
	short, marker := pdu[:60], append([]byte(nil), pdu...)
	marker[14] = 2
	x.devs[0].send(pdu, short, marker)
	settle(t, x.devs...)
	eventually(t, "PDUs counted", func() bool {
		s := x.o.Status().Members[0].LACP.Stats
		return s.RxPDUs == 1 && s.BadPDUs == 2 && s.TxPDUs > 0
	})
	if x.host.count() != 0 || x.ports[0].Stats().RxDrops[packet.LACP] != 3 {
		t.Errorf("%d forwarded, drops %v", x.host.count(), x.ports[0].Stats().RxDrops)
	}

	// A marker is answered.
	marker[16], marker[17], marker[30] = 1, 16, 0xaa
	x.devs[0].send(marker)
	eventually(t, "an answer", func() bool {
		return slices.ContainsFunc(x.devs[0].sent(), func(f []byte) bool {
			return len(f) == lacp.FrameLen && f[14] == 2 && f[16] == 2 && f[30] == 0xaa && [6]byte(f) == lacp.Address
		})
	})
	for range 100 {
		x.devs[1].send(pdu, pdu, pdu, pdu, pdu)
	}
	settle(t, x.devs...)
	d := x.ports[1].Stats().RxDrops
	if d[packet.LACP] == 0 || d[packet.LACP] > 100 || d[packet.LACP]+d[packet.LACPRate] != 500 {
		t.Errorf("of 500 PDUs %d taken, %d refused", d[packet.LACP], d[packet.LACPRate])
	}
	// At a port without LACP they are what any frame to a reserved address is.
	x.host.send(pdu)
	settle(t, x.host)
	if x.d.ports[0].Stats().RxDrops[packet.ReservedMAC] != 1 {
		t.Error("taken where there is no LACP")
	}
}

// What has LACP's EtherType but is not LACP's is for the tables.
func TestNotLACP(t *testing.T) {
	x := newBonded(t, 2, BondConfig{LACP: LACPPassive, SystemID: net.HardwareAddr{2, 0, 0, 0, 9, 9}, FallbackAB: true})
	pdu := (&lacp.PDU{Actor: lacp.Info{System: [6]byte{2, 1}, Port: 1, State: lacp.Activity}}).AppendFrame(nil, [6]byte{2, 1})
	changed := func(f func(b []byte) []byte) []byte { return f(append([]byte(nil), pdu...)) }
	own := x.o.members[0].address()
	delFlows(t, x.b, "")
	addFlows(t, x.b, "dl_type=0x8809,actions=output:"+fmt.Sprint(x.d.ports[0].cfg.OFPort))
	for _, c := range []struct {
		name  string
		frame []byte
		taken bool
	}{
		{"LACPDU", pdu, true},
		{"to the port itself", changed(func(b []byte) []byte { copy(b, own[:]); return b }), true},
		{"to another", changed(func(b []byte) []byte { copy(b, []byte{2, 0, 0, 0, 0, 77}); return b }), false},
		{"to another reserved address", changed(func(b []byte) []byte { b[5] = 3; return b }), false},
		{"OAM", changed(func(b []byte) []byte { b[14] = 3; return b }), false},
		{"tagged", changed(func(b []byte) []byte { return append(append(b[:12:12], 0x81, 0, 0, 5), b[12:]...) }), false},
		{"LACPDU again", pdu, true},
	} {
		before, drops := x.host.count(), x.ports[0].Stats().RxDrops[packet.LACP]
		x.devs[0].send(c.frame)
		settle(t, x.devs...)
		x.d.Synchronize()
		if forwarded := x.host.count() > before; forwarded == c.taken {
			t.Errorf("%s: forwarded: %v", c.name, forwarded)
		}
		if taken := x.ports[0].Stats().RxDrops[packet.LACP] > drops; taken != c.taken {
			t.Errorf("%s: taken: %v", c.name, taken)
		}
	}
}

// Nothing is allocated for packets that pass a bond, nor for LACPDUs.
func TestBondAllocs(t *testing.T) {
	for _, c := range []BondConfig{
		{},
		{Mode: BondSLB},
		{Mode: BondTCP, LACP: LACPActive, LACPFast: true},
	} {
		p := newBondPair(t, 2, c, c)
		if c.LACP != LACPOff {
			p.pump(3000)
		}
		x := p.side[0]
		th := x.d.threads[0]
		for _, d := range [][]byte{udp(2, 1, 9, 80), eth(-1, 1)} {
			x.out(d, d)
		}
		for _, dev := range append(x.devs, x.host) {
			dev.mu.Lock()
			dev.full = true // what is sent would be copied
			dev.mu.Unlock()
		}
		var n float64
		th.do(func() {
			host, member := th.w.ports[0], th.w.ports[x.ports[0].id]
			in := &th.tx[0].tc.in
			f := udp(2, 1, 9, 80)
			f2 := (&lacp.PDU{}).AppendFrame(nil, [6]byte{2})
			n = testing.AllocsPerRun(100, func() {
				for _, c := range []struct {
					b []byte
					v *portView
				}{{f, host}, {f2, member}} {
					th.burst.Start(1)
					th.burst.Pkts[0].SetBytes(c.b)
					in.Packets.Add(1)
					in.Bytes.Add(uint64(len(c.b)))
					th.forward(c.v, 1, in)
					th.flush()
				}
			})
		})
		if n != 0 {
			t.Errorf("%v: %v allocations", c.Mode, n)
		}
	}
}
