package xlate

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// written is an action in an action set. Like pushed, it stays where it is.
type written struct {
	action ofp.Action
	before int32 // index of the one that was written before
}

// writeActions adds actions to the action set.
func (x *Xlate) writeActions(list []ofp.Action) {
	for _, a := range list {
		if x.nSets == maxSet {
			x.fatal(packet.TooManyActions, covOversize, "more than 1024 actions written")
			return
		}
		x.sets[x.nSets] = written{a, x.cur.set}
		x.cur.set = int32(x.nSets)
		x.nSets++
	}
	x.showActionSet()
	x.noteWritten()
}

// showActionSet brings actset_output up to date: the last output that was written, if no group was.
func (x *Xlate) showActionSet() {
	port, group := uint32(portUnset), false
	for i := x.cur.set; i >= 0; i = x.sets[i].before {
		switch a := x.sets[i].action.(type) {
		case ofp.Group:
			group = true
		case ofp.Output:
			if port == portUnset {
				port = a.Port
			}
		}
	}
	if group {
		port = portUnset
	}
	w := &x.cur.packet.key[flow.WordPipe]
	*w = *w&^0xffffffff | uint64(port)
}

// actionSet takes up what has been written to the action set.
func (x *Xlate) actionSet() {
	c := &x.cur
	n := 0
	for i := c.set; i >= 0; i = x.sets[i].before {
		n++
	}
	if n == 0 {
		return
	}
	if x.nBuf+2*n > maxSetBuf {
		x.fatal(packet.TooManyActions, covOversize, "action sets are too long")
		return
	}
	list := x.setBuf[x.nBuf : x.nBuf+n : x.nBuf+n]
	x.nBuf += n
	for i := c.set; i >= 0; i = x.sets[i].before {
		n--
		list[n] = x.sets[i].action
	}
	c.set = -1
	x.noteActionSet()
	c.list, c.at = x.ordered(list), 0
}

// order is how actions of an action set are ordered (ovs-actions(7), "Action Sets"). Of those of one slot
// only the last is done, but of edits all, in the order in which they were written.
func order(a ofp.Action) (slot int) {
	switch a.(type) {
	case ofp.PopVLAN:
		return slotPopVLAN
	case ofp.PopMPLS:
		return slotPopMPLS
	case ofp.PushMPLS:
		return slotPushMPLS
	case ofp.PushVLAN:
		return slotPushVLAN
	case ofp.DecTTL:
		return slotDecTTL
	case ofp.DecMPLSTTL:
		return slotDecMPLSTTL
	case ofp.SetQueue:
		return slotQueue
	case ofp.Group:
		return slotGroup
	case ofp.Output, ofp.OutputReg, ofp.Controller, ofp.Enqueue, ofp.Bundle:
		return slotOutput
	case ofp.Resubmit:
		return slotResubmit
	case ofp.CT:
		return slotCT
	}
	return slotEdit
}

const (
	slotPopVLAN = iota
	slotPopMPLS
	slotPushMPLS
	slotPushVLAN
	slotDecTTL
	slotDecMPLSTTL
	slotEdit
	slotQueue
	slotGroup // of this and the following only the first that there is
	slotOutput
	slotResubmit
	slotCT
	slots
)

// ordered is a list of actions as an action set has them done. Without anything that sends the
// packet somewhere it is empty.
func (x *Xlate) ordered(list []ofp.Action) []ofp.Action {
	if len(list) == 1 && order(list[0]) >= slotGroup {
		return list
	}
	if x.nBuf+len(list) > maxSetBuf {
		x.fatal(packet.TooManyActions, covOversize, "action sets are too long")
		return nil
	}
	var last [slots]int // index + 1
	for i, a := range list {
		last[order(a)] = i + 1
	}
	out := x.setBuf[x.nBuf:x.nBuf]
	for s := range slots {
		switch {
		case last[s] == 0:
		case s == slotEdit:
			for _, a := range list {
				if order(a) == slotEdit {
					out = append(out, a)
				}
			}
		case s < slotGroup:
			out = append(out, list[last[s]-1])
		default:
			out = append(out, list[last[s]-1])
			x.nBuf += len(out)
			return out
		}
	}
	return nil
}
