package xlate

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// do does one action.
func (x *Xlate) do(action ofp.Action) {
	c := &x.cur
	x.noteAction(action)
	switch a := action.(type) {
	case ofp.Output:
		x.output(a.Port, a.MaxLen)
	case ofp.OutputReg:
		x.look1(&a.Src)
		port := a.Src.Field.GetBits(&c.packet.key, uint(a.Src.Ofs), uint(a.Src.Bits)).Lo
		if port > 0xffff && port < 0xffffff00 {
			x.noteWarn("output port is out of range")
			c.why = packet.NoSuchPort
			return
		}
		x.output(uint32(port&0xffff), a.MaxLen)
	case ofp.Controller:
		x.output(ofp.PortController, 0)
		if a.Pause {
			x.exit() // nobody will have it go on
		}
	case ofp.Group:
		x.group(a.ID)
	case ofp.Enqueue:
		x.enqueue(a.Port, a.Queue)
	case ofp.SetQueue:
		x.setQueue(a.ID)
	case ofp.PopQueue:
		c.packet.key[flow.WordQueue] = x.queue
	case ofp.Bundle:
		x.bundle(&a)
	case ofp.Multipath:
		x.multipath(&a)

	case ofp.SetField:
		x.setField(&a)
	case ofp.Move:
		x.move(&a)
	case ofp.StackPush:
		x.stackPush(&a.Sub)
	case ofp.StackPop:
		x.stackPop(&a.Sub)
	case ofp.SetVLANVID:
		x.tagBits(uint32(a.VID), 0xfff)
	case ofp.SetVLANPCP:
		x.tagBits(uint32(a.PCP)<<13, 7<<13)
	case ofp.PopVLAN:
		x.lookAtTags()
		c.packet.popTag()
	case ofp.PushVLAN:
		x.lookAtTags()
		if !c.packet.pushTag(uint32(a.TPID) << 16) {
			x.fatal(packet.NoRoom, covOversize, "more than 8 VLAN tags")
		}
	case ofp.PushMPLS:
		x.pushMPLS(a.EthType)
	case ofp.PopMPLS:
		x.popMPLS(a.EthType)
	case ofp.DecTTL:
		x.decTTL()
	case ofp.SetMPLSTTL:
		x.setMPLSTTL(a.TTL)
	case ofp.DecMPLSTTL:
		x.decMPLSTTL()
	case ofp.SetTunnel:
		c.packet.key[flow.WordTunID] = a.ID

	case ofp.CheckPktLarger:
		x.larger(&a)
	case ofp.Resubmit:
		x.resubmit(&a)
	case ofp.Clone:
		x.clone(a.Actions)
	case ofp.Learn:
		x.learn(&a)
	case ofp.FinTimeout:
		x.noteWarn("fin_timeout is not supported, ignored")
	case ofp.Conjunction:
		x.noteError("executing no-op conjunction action")
	case ofp.Exit:
		x.exit()
	case ofp.CT:
		x.fatal(packet.CTUnsupported, covUnsupported, "connection tracking is not supported")
	case ofp.CTClear:
		clear(c.packet.key[flow.WordCT:flow.WordMark])
		c.packet.key[flow.WordMark] &= 0xffffffff
		clear(c.packet.key[flow.WordCTLabel:flow.WordCTTP])
		c.packet.key[flow.WordCTTP] &= 0xffffffff

	case ofp.Meter:
		x.meter(a.ID)
	case ofp.ClearActions:
		c.set = -1
		x.showActionSet()
	case ofp.WriteActions:
		x.writeActions(a.Actions)
	case ofp.WriteMetadata:
		m := &c.packet.key[flow.WordMeta]
		*m = *m&^a.Mask | a.Value&a.Mask
	case ofp.GotoTable:
		x.table(a.Table, c.packet.key.InPort())
	}
}

// stop ends the present list, not what it was called by.
func (x *Xlate) stop() { x.cur.list, x.cur.at = nil, 0 }

// resubmit looks in another table, perhaps as if the packet had another in_port.
func (x *Xlate) resubmit(a *ofp.Resubmit) {
	c := &x.cur
	if a.CT {
		x.fatal(packet.CTUnsupported, covUnsupported, "connection tracking is not supported")
		return
	}
	in, table := a.Port, a.Table
	if in == ofp.PortInPort {
		in = c.packet.key.InPort()
	}
	if table == ofp.TableAll {
		table = c.table
	}
	x.table(table, in)
}

// clone does actions on a copy of the packet.
func (x *Xlate) clone(list []ofp.Action) {
	save := x.save()
	if save < 0 {
		return
	}
	if k := x.push(contRestore, save); k >= 0 {
		x.conts[k].hi = int32(len(x.list))
		x.cur.list, x.cur.at = list, 0
	}
}

func (x *Xlate) setQueue(id uint32) {
	w := &x.cur.packet.key[flow.WordQueue]
	*w = *w&0xffffffff | uint64(id)<<32
	x.noteQueue(id)
}

// enqueue outputs with a queue, and takes that back when it is done.
func (x *Xlate) enqueue(port, queue uint32) {
	c := &x.cur
	was := c.packet.key[flow.WordQueue]
	if k := x.push(contQueue, -1); k >= 0 {
		x.conts[k].queue = was
		x.setQueue(queue)
		x.output(port, 0)
	}
}
