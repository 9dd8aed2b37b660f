package datapath

import (
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// execution is what exec needs for one packet. It is the thread's.
type execution struct {
	ed     editor
	cur    int  // the packet as it is now
	shared bool // it is on a list: an edit needs a copy
	lost   packet.DropReason
	trunc  uint32 // cut the next output to so many bytes, 0: not
	depth  int
	scopes [maxScopes]scope
}

// scope is what is counted for a bridge: first for the one that the packet came in to, then for
// those behind patches, one in the other.
type scope struct {
	in   *inCounters
	end  int // of the actions that belong to it
	outs int // copies made
	why  packet.DropReason
}

// maxScopes is how many patches may lie in each other in a list: translation does not go deeper.
const maxScopes = 66

// exec does with packet i, which was counted in in, what a list says. The packet is nobody
// else's yet, and packets behind it in the arena are nobody's.
func (t *thread) exec(i int, acts []odp.Action, meters []*rules.Meter, in *inCounters) {
	x := &t.ex
	x.ed.known = false
	x.cur, x.shared, x.trunc, x.lost, x.depth = i, false, 0, packet.DropNone, 0
	s := &x.scopes[0]
	s.in, s.end, s.outs, s.why = in, len(acts), 0, packet.NoOutput
	for pc := 0; ; {
		for pc >= s.end {
			if s.outs == 0 {
				t.drop(s.in, s.why, &t.burst.Pkts[x.cur])
			}
			if x.depth == 0 {
				return
			}
			x.depth--
			s = &x.scopes[x.depth]
		}
		a := &acts[pc]
		pc++
		switch a.Op {
		case odp.Output:
			t.output(a.Port, s, pc == len(acts))
		case odp.Trunc:
			x.trunc = max(uint32(a.Value), packet.MinFrame)
		case odp.CheckLen:
			if uint64(t.burst.Pkts[x.cur].Len) <= a.Value {
				pc = int(a.Jump)
			}
		case odp.Goto:
			pc = int(a.Jump)
		case odp.Meter:
			if int(a.Port) < len(meters) && !t.charge(meters[a.Port]) {
				s.why = packet.Meter
				if pc = int(a.Jump); pc == 0 {
					pc = len(acts)
				}
			}
		case odp.Patch:
			if x.depth+1 < maxScopes {
				if n := t.through(a, s, pc, len(acts)); n != nil {
					s = n
					continue
				}
			}
			if pc = int(a.Jump); pc == 0 {
				pc = len(acts)
			}
		case odp.Drop:
			s.why = a.Reason
			pc = s.end
		case odp.Stop:
			pc = s.end
		default:
			t.change(a, s)
		}
	}
}

// output puts the packet on a port's list.
func (t *thread) output(port uint32, s *scope, last bool) {
	x := &t.ex
	if int(port) >= len(t.tx) || t.tx[port] == nil {
		s.why = packet.NoSuchPort // it has just been removed
		return
	}
	o := t.tx[port]
	j, why := x.cur, x.lost
	if x.trunc != 0 {
		n := x.trunc
		x.trunc = 0
		if n < t.burst.Pkts[j].Len && why == packet.DropNone {
			if !last || x.shared {
				j = t.copyOf(j)
			}
			if j < 0 {
				why = packet.NoMemory
			} else if !truncate(&t.burst.Pkts[j], n) {
				why = packet.TxNeedsOffload
			}
		}
	}
	if s.outs == 0 {
		s.in.forwarded.Add(1)
	}
	s.outs++
	s.in.copies.Add(1)
	if why != packet.DropNone {
		t.lose(o, why, &t.burst.Pkts[x.cur])
		return
	}
	if j == x.cur {
		x.shared = true
	}
	t.push(o, j)
}

// copyOf is a new packet like packet j, -1 if there is no room for one.
func (t *thread) copyOf(j int) int { return t.clone(j, j, 0) }

// own makes the packet one that no list holds, so that it may be edited.
func (t *thread) own() bool {
	x := &t.ex
	if !x.shared {
		return true
	}
	if t.burst.Free() == 0 { // sending what waits makes it ours
		t.flush()
		t.burst.Reclaim(max(x.cur+1, t.received))
		x.shared = false
		return true
	}
	j := t.copyOf(x.cur)
	if j < 0 {
		return false
	}
	x.cur, x.shared = j, false
	return true
}

// change does an action that edits the packet, on a copy if others send it. A packet that
// cannot be edited is lost to all outputs that follow.
func (t *thread) change(a *odp.Action, s *scope) {
	x := &t.ex
	if x.lost != packet.DropNone {
		return
	}
	if !t.own() {
		x.lost, s.why = packet.NoMemory, packet.NoMemory
		return
	}
	p := &t.burst.Pkts[x.cur]
	ok, why := true, packet.BadHeader
	switch a.Op {
	case odp.Set:
		ok = x.ed.set(p, a.Word, a.Value, a.Mask)
	case odp.PushVLAN:
		ok, why = x.ed.pushVLAN(p, uint32(a.Value)), packet.NoRoom
	case odp.PopVLAN:
		ok = x.ed.popVLAN(p)
	case odp.PushMPLS:
		ok, why = x.ed.pushMPLS(p, uint16(a.Value>>32), uint32(a.Value)), packet.NoRoom
	case odp.PopMPLS:
		ok = x.ed.popMPLS(p, uint16(a.Value))
	}
	t.longest = max(t.longest, p.Len)
	if !ok {
		x.lost, s.why = why, why
	}
}

// through counts the packet out of a patch port and into its peer, whose actions follow up to the
// scope's end. nil: it does not get through.
func (t *thread) through(a *odp.Action, s *scope, pc, n int) *scope {
	x := &t.ex
	if int(a.Port) >= len(t.tx) || t.tx[a.Port] == nil || a.Value >= uint64(len(t.tx)) || t.tx[a.Value] == nil {
		s.why = packet.NoSuchPort
		return nil
	}
	o := t.tx[a.Port]
	if s.outs == 0 {
		s.in.forwarded.Add(1)
	}
	s.outs++
	s.in.copies.Add(1)
	if x.lost != packet.DropNone {
		t.lose(o, x.lost, &t.burst.Pkts[x.cur])
		return nil
	}
	size := uint64(t.burst.Pkts[x.cur].Len)
	o.c.copies.Add(1)
	o.c.Packets.Add(1)
	o.c.Bytes.Add(size)
	in := &t.tx[a.Value].tc.in
	in.Packets.Add(1)
	in.Bytes.Add(size)
	t.stats.recirc.Add(1)
	if t.obs != nil {
		t.sawPatch(&t.burst.Pkts[x.cur], uint16(a.Port), uint16(a.Value))
	}
	end := int(a.Jump)
	if end < pc {
		end = n
	}
	x.depth++
	s = &x.scopes[x.depth]
	s.in, s.end, s.outs, s.why = in, end, 0, packet.NoOutput
	return s
}

// charge counts the packet against a meter, as what it will be on the wire.
func (t *thread) charge(m *rules.Meter) bool {
	p := &t.burst.Pkts[t.ex.cur]
	packets, bytes := onWire(p)
	return m.Charge(t.d.clock.micros(t.now), packets, bytes)
}

// onWire is how many packets p will be cut to and how many bytes these have.
func onWire(p *packet.Packet) (packets, bytes uint64) {
	n := uint64(p.Len)
	if p.GSOType == packet.GSONone || p.GSOSize == 0 {
		return 1, n
	}
	// The headers end where the checksum's L4 header does: 20 bytes for TCP without
	// options are near enough, and no less than UDP's.
	hdr := min(uint64(p.CsumStart)+20, n)
	if h := uint64(p.HdrLen); h > hdr && h < hdr+44 {
		hdr = h
	}
	packets = max((n-hdr+uint64(p.GSOSize)-1)/uint64(p.GSOSize), 1)
	return packets, n + (packets-1)*hdr
}
