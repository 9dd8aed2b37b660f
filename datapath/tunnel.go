package datapath

import "github.com/gvswitch/gvswitch/flow"

// A dot1q-tunnel port (802.1ad) carries the frames of a customer, tagged or not, within one VLAN of the
// bridge: in the bridge they have another tag around their own, which they lose when they leave by
// such a port. What becomes of a frame then depends on two tags, more than what the short way looks at; so
// bridges with such a port decide by megaflows.

// customer is the part of a decision that such ports need.
type customer struct {
	inner uint16 // VID of the tag below the bridge's own; 0: none
	outer bool   // the bridge's tag comes on top of all that the frame has
}

// qinq is the EtherType of the tag that a dot1q-tunnel port puts around a frame, if nothing else is configured.
const qinq = 0x88a8

// tag sets the decision's tag to that of a packet with key k.
func (d *decision) tag(k *flow.Key) {
	w := k[flow.WordVLAN]
	d.tagged, d.tci = w&flow.TagPresent != 0, uint16(w>>32)
	d.customer = customer{inner: uint16(w) & 0xfff}
}

// wrap makes the decision that of a frame which comes in by a tunnel port, if the port takes the customer's VLAN.
func (v *portView) wrap(d *decision) bool {
	vid := d.tci & 0xfff
	if !v.trunked(vid) {
		return false
	}
	d.vid = v.native
	d.customer = customer{inner: vid, outer: true}
	d.tagged, d.tci = false, 0
	return true
}

// reaches tells whether a flood that the decision's frame is in reaches the port, and puts what that depends on into
// mask.
func (v *portView) reaches(d *decision, mask *flow.Key) bool {
	if v.mode != VLANDot1qTunnel {
		// A customer's tag is not for those who know nothing of it. (The VLAN that the frame came with was looked at.)
		return v.carries(d.vid) && !(d.outer && d.inner != 0 && v.mode == VLANAccess)
	}
	if v.trunks != nil {
		mask[flow.WordVLAN] |= vidBits | vidBits>>32
	}
	return d.vid == v.native && v.trunked(d.inner)
}

// plain tells whether the port takes any frame as it is.
func (v *portView) plain() bool { return v.mode == VLANTrunk && v.trunks == nil }
