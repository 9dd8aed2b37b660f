package datapath

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/xlate"
)

// admit asks the bond that v belongs to, if any, whether it takes the packet, which is for dst, and
// whose source and VLAN are key. It gives the reason if not.
func (b *bridgeRun) admit(q *xlate.Normal, v *portView, dst, key uint64) packet.DropReason {
	t := b.t
	if v.bond == nil {
		if q.Learn && gratuitous(q.Key, q.Mask) {
			b.v.grat.lock(key, t.ms)
			t.fl.notes.more = true // it is to be locked again while they come
		}
		return packet.DropNone
	}
	if why := v.refuses(dst); why != packet.DropNone {
		if q.Note {
			q.Text = "bonded port is not to be used for this, dropping"
		}
		return why
	}
	if v.bond.taking != takeSLB {
		return packet.DropNone
	}
	at := b.v.table.lookup(key)
	if at == 0 || int(valPort(at)) >= len(t.w.ports) {
		return packet.DropNone
	}
	if p := t.w.ports[valPort(at)]; p == nil || p.lid == v.lid {
		return packet.DropNone
	}
	if gratuitous(q.Key, q.Mask) && !b.v.grat.locked(key, t.ms) {
		return packet.DropNone // the host has moved to beyond the bond
	}
	if q.Note {
		q.Text = "source is known at another port, so the packet is one that came back by a bond, dropping"
	}
	t.fl.notes.add(macNote{key: key, port: valPort(at), bridge: b.v.id})
	return packet.BondReflected
}

// choose is the member of a bond that the packet leaves by.
func (b *bridgeRun) choose(o *bondView, key, mask *flow.Key, d *decision) *portView {
	m, bucket := o.member(key, d.vid, mask)
	if o.hash == hashL2 || o.hash == hashL4 {
		if n := &b.t.fl.notes; n.bond == 0 {
			n.bond, n.bucket = o.id, bucket
		}
	}
	return m
}

// bondLoad tells a bond what went by one of its buckets.
func (t *thread) bondLoad(bond uint16, bucket uint8, bytes uint64) {
	if int(bond) < len(t.w.bonds) && t.w.bonds[bond] != nil {
		t.w.bonds[bond].load[bucket].Add(bytes)
	}
}
