package xlate

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// larger does check_pkt_larger: both answers are followed to their end, and each packet goes
// its way. What follows is therefore in the list twice.
func (x *Xlate) larger(a *ofp.CheckPktLarger) {
	c := &x.cur
	x.commit()
	stop := c.cont
	for stop >= 0 && x.conts[stop].kind != contPatch {
		stop = x.conts[stop].next
	}
	was := *c
	contFloor, saveFloor := x.contFloor, x.saveFloor
	x.contFloor, x.saveFloor = x.nConts, x.nSaves
	check := x.emit(odp.Action{Op: odp.CheckLen, Value: uint64(a.Len)})
	x.noteDetail("if the packet is larger:")
	x.write(&a.Dst, flow.Value{Lo: 1})
	x.loop(stop)
	x.endBranch(stop)
	end := x.emit(odp.Action{Op: odp.Goto})
	if x.failed {
		return
	}
	outs := c.outs
	x.list[check].Jump = uint16(len(x.list))
	*c = was
	x.noteDetail("if it is not:")
	x.write(&a.Dst, flow.Value{})
	x.loop(stop)
	x.endBranch(stop)
	if x.failed {
		return
	}
	x.list[end].Jump = uint16(len(x.list))
	c.outs += outs - was.outs
	c.ended = true
	x.contFloor, x.saveFloor = contFloor, saveFloor
	if stop >= 0 {
		x.nConts = max(contFloor, int(stop)+1)
		x.nSaves = max(saveFloor, int(x.conts[stop].save)+1)
	}
}

// endBranch brings a way to where it joins the other one: the end of what a patch port's peer does,
// with the packet looking the same on both, or of the list.
func (x *Xlate) endBranch(stop int32) {
	if x.failed {
		return
	}
	if stop >= 0 {
		x.commitTo(&x.saves[x.conts[stop].save].packet)
	}
	x.endWay()
}
