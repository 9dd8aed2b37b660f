package datapath

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/rules"
	"github.com/gvswitch/gvswitch/pipeline/xlate"
)

// bridgeRun is a bridge as translation on a thread sees it, in one snapshot.
type bridgeRun struct {
	t    *thread
	v    *bridgeView
	seen uint64 // version of the tables that the thread knows of
}

var _ xlate.Bridge = (*bridgeRun)(nil)

// Name implements xlate.Bridge.
func (b *bridgeRun) Name() string { return b.v.name }

// Tables implements xlate.Bridge.
func (b *bridgeRun) Tables() *rules.Tables { return b.v.tables }

// Ports implements xlate.Bridge.
func (b *bridgeRun) Ports() []uint32 { return b.v.numbers }

// Port implements xlate.Bridge.
func (b *bridgeRun) Port(of uint32) (xlate.Port, bool) {
	v := b.v.byOF[of]
	if v == nil {
		return xlate.Port{}, false
	}
	p := xlate.Port{
		ID: uint32(v.id), OF: of, Name: v.port.name, Up: v.ready, NoLink: v.noLink,
		NoFwd: v.of.NoFwd, NoFlood: v.noFlood, NoRecv: v.of.NoRecv, Reserved: v.mirrorOut,
	}
	if v.peer != nil {
		p.Peer, p.PeerOF = b.run(v.peer.br), uint32(v.peer.ofPort)
	}
	return p, true
}

// run is the same for another bridge of the snapshot.
func (b *bridgeRun) run(v *bridgeView) xlate.Bridge { return b.t.w.bridges[v.id] }

// macNote is what a translation found in a MAC table. port is noPort if the address was not there.
type macNote struct {
	key    uint64
	port   uint16
	bridge uint16
	src    bool
}

const (
	noPort   = 0xffff
	maxNotes = 4
)

// notes are those of one translation.
type notes struct {
	n    int
	more bool // there were more than there is room for
	list [maxNotes]macNote

	bond   uint16 // the first that chose a member by a hash, 0: none
	bucket uint8
}

func (l *notes) reset() { l.n, l.more, l.bond = 0, false, 0 }

func (l *notes) add(m macNote) {
	if l.n == maxNotes {
		l.more = true
		return
	}
	l.list[l.n] = m
	l.n++
}

const (
	macBits  uint64 = 0xffffffffffff << 16
	vidBits  uint64 = 0xffff0fff << 32 // TPID and VID of the outer tag
	tagBits  uint64 = 0xffffffff << 32
	portBits uint64 = 0xffffffff << 32
)

// Normal implements xlate.Bridge: decide, for any key.
func (b *bridgeRun) Normal(q *xlate.Normal) {
	t := b.t
	v := b.v.byOF[q.InOF]
	q.Tags |= macTag
	if v == nil {
		q.Why = packet.NoSuchPort
		if q.Note {
			q.Text = "no input port, dropping"
		}
		return
	}
	k := q.Key
	q.Mask[flow.WordPort] |= portBits
	q.Mask[flow.WordDst] |= macBits
	q.Mask[flow.WordSrc] |= macBits
	q.Mask[flow.WordVLAN] |= vidBits
	var d decision
	d.tag(k)
	if !v.admits(&d) {
		q.Why = packet.VLANNotAllowed
		if q.Note {
			q.Text = "VLAN is not carried by the input port, dropping"
		}
		return
	}
	dst, src := wordOf(k[flow.WordDst]>>16), wordOf(k[flow.WordSrc]>>16)
	if isReserved(dst) && !b.v.bpdu {
		q.Why = packet.ReservedMAC
		if q.Note {
			q.Text = "destination is reserved for bridges, dropping"
		}
		return
	}
	if v.bond != nil || b.v.slb {
		if why := b.admit(q, v, dst, macKey(src, d.vid)); why != packet.DropNone {
			q.Why = why
			return
		}
	}
	flood := b.v.noLearn != nil && b.v.noLearn.has(d.vid)
	if src&1 == 0 && src != 0 && !flood {
		b.learn(macKey(src, d.vid), v, q.Learn)
	}
	out := (*portView)(nil)
	if dst&1 == 0 && !flood {
		key := macKey(dst, d.vid)
		to := b.v.table.lookup(key)
		n := macNote{key: key, port: noPort, bridge: b.v.id}
		if to != 0 {
			n.port = valPort(to)
			if int(n.port) < len(t.w.ports) {
				out = t.w.ports[n.port]
			}
			if out != nil && out.br != b.v {
				out = nil // being removed
			}
		}
		t.fl.notes.add(n)
	}
	switch {
	case out == nil:
		if q.Note {
			q.Text = "no learned MAC for destination, flooding"
			switch {
			case flood:
				q.Text = "nothing is learned in this VLAN, flooding"
			case dst&1 != 0:
				q.Text = "multicast or broadcast, flooding"
			}
		}
		for _, id := range b.v.flood {
			o := t.w.ports[id]
			if o.lid == v.lid || !o.reaches(&d, q.Mask) || v.protected && o.protected {
				continue
			}
			if o.bond != nil {
				if o = b.choose(o.bond, q.Key, q.Mask, &d); o == nil {
					continue
				}
			}
			q.Outs = append(q.Outs, v.leave(o, &d, q.Key, q.Mask))
		}
		q.Why = packet.NoOutput
	case out.lid == v.lid:
		q.Why = packet.SamePort
	case v.protected && out.protected:
		q.Why = packet.Protected
	case out.of.NoFwd:
		q.Why = packet.PortNoForward
	case out.mirrorOut:
		q.Why = packet.MirrorOutput
	default:
		if q.Note {
			q.Text = "forwarding to learned port"
		}
		if out.bond != nil {
			if out = b.choose(out.bond, q.Key, q.Mask, &d); out == nil {
				q.Why = packet.BondDown
				return
			}
		}
		q.Outs = append(q.Outs, v.leave(out, &d, q.Key, q.Mask))
	}
}

// learn notes that key was seen at v, really or as if.
func (b *bridgeRun) learn(key uint64, v *portView, really bool) {
	t, table := b.t, b.v.table
	sec := uint32(t.ms / 1000)
	got := table.lookup(key)
	if really && got != macVal(v.lid, sec) && got&isStatic == 0 {
		table.learn(key, v.lid, sec, t.ms)
		got = table.lookup(key)
	} else if really && got&isStatic != 0 && valPort(got) != v.lid {
		table.learn(key, v.lid, sec, t.ms) // counts it
	}
	n := macNote{key: key, port: v.lid, bridge: b.v.id, src: true}
	switch {
	case got&isStatic != 0:
		n.port = valPort(got)
	case really && got == 0:
		n.port = noPort // no room
	}
	t.fl.notes.add(n)
}

// leave is how the packet leaves by o.
func (v *portView) leave(o *portView, d *decision, key, mask *flow.Key) xlate.NormalOut {
	w := key[flow.WordVLAN]
	a := o.encap(d)
	if o.prio != PriorityNever {
		mask[flow.WordVLAN] |= tagBits
	}
	switch a.op() {
	case opPush:
		if d.outer {
			return xlate.NormalOut{OF: uint32(o.ofPort), VLAN: (uint64(v.qinq)<<16 | uint64(a.arg())) << 32, Pushed: true}
		}
		w = (0x8100<<16|uint64(a.arg()))<<32 | w>>32
	case opSetVID:
		mask[flow.WordVLAN] |= tagBits
		w = w&^(0xfff<<32) | uint64(a.arg())<<32
	case opPop:
		mask[flow.WordVLAN] = ^uint64(0)
		w <<= 32
	}
	return xlate.NormalOut{OF: uint32(o.ofPort), VLAN: w}
}

// wordOf is a MAC, first byte highest, as tables and the first words of a frame have it: first
// byte lowest.
func wordOf(mac uint64) uint64 {
	var w uint64
	for range 6 {
		w = w<<8 | mac&0xff
		mac >>= 8
	}
	return w
}

// hold tells whether the MAC tables still say what they said. With first, addresses that
// packets came from do not count.
func (t *thread) hold(n []macNote) bool {
	for i := range n {
		m := &n[i]
		if m.key == 0 {
			break
		}
		b := t.bridgeAt(m.bridge)
		if b == nil {
			return false
		}
		port := uint16(noPort)
		if got := b.v.table.lookup(m.key); got != 0 {
			port = valPort(got)
		}
		if port != m.port {
			return false
		}
	}
	return true
}

// refresh keeps the addresses fresh that packets came from.
func (t *thread) refresh(n []macNote) {
	sec := uint32(t.ms / 1000)
	for i := range n {
		m := &n[i]
		if m.key == 0 {
			break
		}
		if !m.src || m.port == noPort {
			continue
		}
		if b := t.bridgeAt(m.bridge); b != nil {
			if got := b.v.table.lookup(m.key); got == 0 || got&isStatic == 0 && valPort(got) == m.port && valSec(got) != sec {
				b.v.table.learn(m.key, m.port, sec, t.ms)
			}
		}
	}
}
