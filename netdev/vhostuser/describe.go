package vhostuser

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/internal/virtio"
)

// describe adds to a status what was offered, why, and what came of it. d.mu is held.
func (d *Device) describe(s map[string]string) {
	if d.pin.Offered != 0 {
		s["features-offered"] = featureNames(d.pin.Offered)
	}
	if pinned := d.pin.Offered &^ d.set.wanted(); pinned != 0 {
		s["features-pinned"] = featureNames(pinned)
		s["features-pinned-because"] = d.pinnedWhy()
	}
	v := &d.view
	if !v.connected || !v.agreed {
		return
	}
	describeRings(s, v.features)
	describeControl(s, v)
}

// pinnedWhy is the reason for people why more is offered than the settings say.
func (d *Device) pinnedWhy() string {
	who := d.pin.FrontEnd
	if who == "" {
		return "the guest was offered this before, and it cannot be told whether another one has come since; the settings take effect when the port is deleted and added again"
	}
	if d.refusal.stubborn(who) {
		return fmt.Sprintf("the guest's side (%s) refused %d times what the settings offer; they take effect for the next one", who, d.refusal.n)
	}
	return fmt.Sprintf("the guest's side (%s) was offered this before and may insist on it; the settings take effect when it is started anew", who)
}

// describeRings says how the queues work that a guest with these features has.
func describeRings(s map[string]string, features uint64) {
	has := func(f uint64) string { return strconv.FormatBool(features&f != 0) }
	s["ring"] = "split"
	if features&virtio.FRingPacked != 0 {
		s["ring"] = "packed"
	}
	s["ring-in-order"] = has(virtio.FInOrder)
	s["ring-event-idx"] = has(virtio.FEventIdx)
	s["ring-indirect"] = has(virtio.FIndirectDesc)
	s["mergeable"] = has(virtio.NetFMrgRxbuf)
	s["header-length"] = strconv.Itoa(virtio.NetHdrLen(features))
	s["header-parsed"] = has(offloadBits)
}

// describeControl says what the guest has set by the control queue.
func describeControl(s map[string]string, v *view) {
	c := v.control
	if c == nil {
		if v.features&virtio.NetFCtrlVQ != 0 {
			s["control-queue"] = "not given to the switch"
		}
		return
	}
	s["control-queue"] = "served"
	if v.features&virtio.NetFMQ != 0 {
		s["queue-pairs-in-use"] = strconv.Itoa(c.Pairs)
	}
	if gone := c.Features & virtio.GuestOffloads &^ c.Offloads; gone != 0 {
		s["guest-offloads-off"] = featureNames(gone)
	}
	if v.ownMAC != nil {
		s["guest-mac"] = v.ownMAC.String()
	}
	s["guest-receives"] = receives(&c.Want)
}

// receives says which frames a guest wants.
func receives(f *virtio.RxFilter) string {
	if f.All() {
		return "everything"
	}
	var words []string
	if f.ByAddr {
		switch {
		case f.NoUni:
			words = append(words, "no unicast")
		case f.AllUni || f.MoreUni || f.Own == 0:
			words = append(words, "all unicast")
		default:
			words = append(words, "its own unicast")
		}
		switch {
		case f.NoMulti:
			words = append(words, "no multicast")
		case f.AllMulti || f.MoreMulti:
			words = append(words, "all multicast")
		}
		if n := len(f.MACs); n > 0 {
			words = append(words, fmt.Sprintf("%d more addresses", n))
		}
		if f.NoBcast {
			words = append(words, "no broadcast")
		} else {
			words = append(words, "broadcast")
		}
	}
	if f.ByVLAN {
		words = append(words, fmt.Sprintf("%d VLANs", vlans(f)))
	}
	return strings.Join(words, ", ")
}

func vlans(f *virtio.RxFilter) (n int) {
	for _, w := range f.VLANs {
		n += bits.OnesCount64(w)
	}
	return n
}
