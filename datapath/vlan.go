package datapath

import (
	"encoding/binary"

	"github.com/gvswitch/gvswitch/packet"
)

// trunked tells whether a trunk port carries the VLAN.
func (v *portView) trunked(vid uint16) bool {
	return v.trunks == nil || v.trunks[vid>>6&63]>>(vid&63)&1 != 0
}

// admits tells whether the port takes a frame with the decision's tag from
// outside, and sets the VLAN that it then belongs to.
func (v *portView) admits(d *decision) bool {
	vid := d.tci & 0xfff
	d.vid = vid
	switch v.mode {
	case VLANAccess:
		d.vid = v.native
		return vid == 0
	case VLANDot1qTunnel:
		return v.wrap(d)
	case VLANNativeTagged, VLANNativeUntagged:
		if vid == 0 {
			d.vid = v.native
			return true // a port always carries its native VLAN
		}
	}
	return v.trunked(vid)
}

// carries tells whether a flood in the VLAN reaches the port.
func (v *portView) carries(vid uint16) bool {
	if v.mode == VLANAccess {
		return vid == v.native
	}
	return v.trunked(vid)
}

// encap is the action that sends a frame out of the port: what its tag must
// become, and where.
func (v *portView) encap(d *decision) action {
	a := action(v.id)
	if v.peer != nil {
		a |= viaPatch
	}
	vid := d.vid
	if v.mode == VLANAccess || v.mode == VLANDot1qTunnel || v.mode == VLANNativeUntagged && vid == v.native {
		vid = 0
	}
	keep := vid != 0
	switch v.prio {
	case PriorityIfNonzero:
		keep = keep || d.tci>>13 != 0
	case PriorityAlways:
		keep = true
	}
	switch {
	case keep && !d.tagged:
		a |= opPush<<28 | action(vid)<<16
	case keep && vid != d.tci&0xfff:
		a |= opSetVID<<28 | action(vid)<<16
	case !keep && d.tagged:
		a |= opPop << 28
	}
	return a
}

// edit changes a frame's tag as the action says. It reports false if there is no
// room.
func edit(p *packet.Packet, a action) bool {
	switch a.op() {
	case opPop:
		h := p.Head()
		if len(h) < minTagged {
			return false
		}
		lo, hi := binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint32(h[8:12])
		binary.LittleEndian.PutUint64(h[4:12], lo)
		binary.LittleEndian.PutUint32(h[12:16], hi)
		return p.Pop(4)
	case opPush:
		if !p.Push(4) {
			return false
		}
		h := p.Head()
		if len(h) < minTagged {
			return false
		}
		lo, hi := binary.LittleEndian.Uint64(h[4:12]), binary.LittleEndian.Uint32(h[12:16])
		binary.LittleEndian.PutUint64(h[:8], lo)
		binary.LittleEndian.PutUint32(h[8:12], hi)
		binary.BigEndian.PutUint32(h[12:16], 0x8100<<16|uint32(a.arg()))
	case opSetVID:
		h := p.Head()
		if len(h) < minTagged {
			return false
		}
		h[14] = h[14]&0xf0 | byte(a.arg()>>8)
		h[15] = byte(a.arg())
	}
	return true
}
