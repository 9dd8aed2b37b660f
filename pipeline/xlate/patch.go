package xlate

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
)

// patch has the bridge behind a patch port decide. What it does with the packet does not show here.
func (x *Xlate) patch(p *Port) {
	c := &x.cur
	if c.patches >= maxPatches {
		x.fail(packet.PatchLoop, covDepth, "through more than 8 patch ports")
		return
	}
	q, ok := p.Peer.Port(p.PeerOF)
	if !ok || !q.Up {
		x.noteWarn("the patch port's peer is down, skipping output")
		c.why = packet.PortDown
		return
	}
	save := x.save()
	if save < 0 {
		return
	}
	at := x.emit(odp.Action{Op: odp.Patch, Port: p.ID, Value: uint64(q.ID)})
	k := x.push(contPatch, save)
	if k < 0 {
		return
	}
	x.conts[k].hi = int32(at)
	c.outs, c.stack, c.set, c.why = 0, -1, -1, packet.RuleDrop
	c.patches++
	key := &c.packet.key
	key.SetInPort(p.PeerOF)
	clear(key[flow.WordCT : flow.WordMark+1])
	key[flow.WordMark] |= x.saves[save].packet.key[flow.WordMark] & 0xffffffff
	clear(key[flow.WordCTLabel:flow.WordPipe])
	key[flow.WordPipe] = portUnset
	x.enter(p.Peer)
	if !x.receives(p.PeerOF) {
		return
	}
	x.push(contActions, -1)
	x.mirror(p.PeerOF, false)
	x.table(0, p.PeerOF)
}

// leavePatch goes back to the bridge that the packet came from.
func (x *Xlate) leavePatch(n *cont) {
	c := &x.cur
	x.leave(n)
	x.endWay()
	x.aimMeters(n)
	x.freeSave(n.save)
	x.list[n.hi].Jump = uint16(len(x.list))
	c.bridge, c.tables, c.version = n.bridge, n.tables, n.version
	c.stack, c.set, c.patches = n.stack, n.set, n.patches
	c.outs, c.ended = n.outs+1, false
	c.mirrors, c.mirrored = n.mirrors, n.done
}

// enclosing is the meter scope that the packet is in: the nearest clone, bucket or patch; nil: none.
func (x *Xlate) enclosing() *cont {
	for i := x.cur.cont; i >= 0; i = x.conts[i].next {
		switch x.conts[i].kind {
		case contRestore, contBucket, contPatch:
			return &x.conts[i]
		}
	}
	return nil
}

// meter counts the packet against a meter, which ends the present clone, bucket or patch if it
// refuses, or else all.
func (x *Xlate) meter(id uint32) {
	c := &x.cur
	m := c.tables.Meter(id)
	if m == nil || len(x.res.Meters) == cap(x.res.Meters) {
		x.noteWarn("nonexistent meter")
		return
	}
	a := odp.Action{Op: odp.Meter, Port: uint32(len(x.res.Meters)), Value: uint64(id)}
	x.res.Meters = append(x.res.Meters, m)
	if n := x.enclosing(); n != nil {
		a.Jump = pending
		s := &x.saves[n.save]
		if s.metered {
			x.commitTo(&s.base)
		}
		s.metered, s.base = true, c.base
	}
	x.emit(a)
}
