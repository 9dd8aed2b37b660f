package xlate

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// output does the output action: port may be reserved, max is the longest frame to send, 0: any.
func (x *Xlate) output(port, maxLen uint32) {
	c := &x.cur
	if maxLen != 0 && port >= ofp.PortMax && port != ofp.PortLocal && port != ofp.PortInPort {
		x.noteWarn("output_trunc does not support this port")
		return
	}
	switch port {
	case ofp.PortInPort:
		x.wc[flow.WordPort] |= bitsInPort
		x.send(c.packet.key.InPort(), maxLen)
	case ofp.PortTable:
		x.table(0, c.packet.key.InPort())
	case ofp.PortNormal:
		x.doNormal()
	case ofp.PortFlood:
		x.flood(false)
	case ofp.PortAll:
		x.flood(true)
	case ofp.PortController:
		c.why = packet.ToController
		x.noteWarn("there is no controller to send the packet to")
	case ofp.PortNone:
	default:
		x.wc[flow.WordPort] |= bitsInPort
		if port == c.packet.key.InPort() {
			x.noteWarn("skipping output to input port")
			c.why = packet.SamePort
			return
		}
		x.send(port, maxLen)
	}
}

// send sends the packet to a port, whatever port it came from.
func (x *Xlate) send(of, maxLen uint32) {
	c := &x.cur
	p, ok := c.bridge.Port(of)
	switch {
	case !ok:
		x.noteWarn("Nonexistent output port")
		c.why = packet.NoSuchPort
		return
	case p.NoFwd:
		x.noteDetail("OFPPC_NO_FWD set, skipping output")
		c.why = packet.PortNoForward
		return
	case !p.Up:
		x.noteWarn("port is down, skipping output")
		c.why = packet.PortDown
		return
	case p.Peer != nil:
		if maxLen != 0 {
			x.noteError("Cannot truncate output to patch port")
			c.why = packet.NoSuchPort
			return
		}
		x.mirror(of, true)
		if !x.failed {
			x.patch(&p)
		}
		return
	}
	x.commit()
	if maxLen != 0 {
		x.emit(odp.Action{Op: odp.Trunc, Value: uint64(maxLen)})
	}
	x.emit(odp.Action{Op: odp.Output, Port: p.ID})
	c.outs++
	x.mirror(of, true)
}

// flood sends to all ports but the one that the packet came from; all: also to those that
// do not want floods.
func (x *Xlate) flood(all bool) {
	c := &x.cur
	x.wc[flow.WordPort] |= bitsInPort
	in, vlan := c.packet.key.InPort(), c.packet.key[flow.WordVLAN]
	lo := len(x.outs)
	if !x.spendOnPorts() {
		return
	}
	for _, of := range c.bridge.Ports() {
		if of == in {
			continue
		}
		if p, ok := c.bridge.Port(of); ok && (all || !p.NoFlood) && len(x.outs) < maxOuts {
			x.outs = append(x.outs, NormalOut{OF: of, VLAN: vlan})
		}
	}
	if len(x.outs) == lo {
		c.why = packet.NoOutput
		return
	}
	x.sendOuts(int32(lo), int32(len(x.outs)), -1)
}

// spendOnPorts is for what looks at all ports of the bridge.
func (x *Xlate) spendOnPorts() bool { return x.spend(8 + len(x.cur.bridge.Ports())/8) }

// doNormal asks the bridge.
func (x *Xlate) doNormal() {
	c, q := &x.cur, &x.normal
	x.wc[flow.WordPort] |= bitsInPort
	lo := len(x.outs)
	if !x.spendOnPorts() {
		return
	}
	*q = Normal{
		InOF: c.packet.key.InPort(), Key: &c.packet.key, Learn: x.in.Effects, Note: x.trace != nil,
		Mask: x.wc, Outs: x.outs[lo:],
	}
	c.bridge.Normal(q)
	if len(q.Outs) > cap(x.outs)-lo {
		x.fatal(packet.TooManyActions, covOversize, "NORMAL sends to more than 4096 ports")
		return
	}
	x.outs = x.outs[:lo+len(q.Outs)]
	x.res.Tags |= q.Tags
	if q.Text != "" {
		x.noteDetail(q.Text)
	}
	if len(q.Outs) == 0 {
		c.why = q.Why
		return
	}
	for i := range q.Outs {
		if q.Outs[i].Pushed || q.Outs[i].VLAN != c.packet.key[flow.WordVLAN] {
			x.lookAtTags()
			break
		}
	}
	byTags(x.outs[lo:], c.packet.key[flow.WordVLAN])
	x.sendOuts(int32(lo), int32(len(x.outs)), -1)
}

// byTags brings those together that want the same tags, first those that want the ones that the
// packet has: so each form is made once. Ports of a form stay in their order.
func byTags(outs []NormalOut, vlan uint64) {
	less := func(a, b *NormalOut) bool {
		x, y := a.VLAN, b.VLAN
		if (x == vlan) != (y == vlan) {
			return x == vlan
		}
		return x < y
	}
	for i := 1; i < len(outs); i++ {
		o := outs[i]
		j := i
		for j > 0 && less(&o, &outs[j-1]) {
			outs[j] = outs[j-1]
			j--
		}
		outs[j] = o
	}
}

// sendOuts sends to the ports in outs[lo:hi]. save, unless it is -1, is the packet as it was before the
// first of them.
func (x *Xlate) sendOuts(lo, hi, save int32) {
	c := &x.cur
	for i := lo; i < hi && !x.failed; i++ {
		o := &x.outs[i]
		p, ok := c.bridge.Port(o.OF)
		patch := ok && p.Peer != nil && p.Up && !p.NoFwd
		if patch && save < 0 {
			if save = x.save(); save < 0 {
				return
			}
		}
		same := !o.Pushed && o.VLAN == c.packet.key[flow.WordVLAN]
		tags, n := c.packet.tags, c.packet.nTags
		if !same && !x.retag(o) {
			return
		}
		if patch {
			// The peer's pipeline comes first, then what is left here.
			if k := x.push(contOuts, save); k >= 0 {
				x.conts[k].lo, x.conts[k].hi = i+1, hi
				x.send(o.OF, o.Max)
			}
			return
		}
		x.send(o.OF, o.Max)
		if !same {
			c.packet.tags, c.packet.nTags = tags, n
			c.packet.showTags()
		}
	}
	if save >= 0 {
		x.freeSave(save)
	}
}

// retag gives the packet the tags that o wants.
func (x *Xlate) retag(o *NormalOut) bool {
	s := &x.cur.packet
	if o.Pushed {
		if !s.pushTag(uint32(o.VLAN >> 32)) {
			x.fatal(packet.NoRoom, covOversize, "more than 8 VLAN tags")
			return false
		}
		return true
	}
	s.nTags -= min(s.nTags, 2)
	if inner := uint32(o.VLAN); inner != 0 {
		s.pushTag(inner)
	}
	if outer := uint32(o.VLAN >> 32); outer != 0 && !s.pushTag(outer) {
		x.fatal(packet.NoRoom, covOversize, "more than 8 VLAN tags")
		return false
	}
	s.showTags()
	return true
}
