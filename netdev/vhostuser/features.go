package vhostuser

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/netdev/opt"
)

// What is offered besides baseFeatures, and why: docs/decisions/0005-vhost-user-offer.md.
const (
	ctrlFeatures = virtio.NetFCtrlVQ | virtio.NetFCtrlRx | virtio.NetFCtrlRxExtra | virtio.NetFCtrlVLAN |
		virtio.NetFCtrlMACAddr | virtio.NetFGuestOffloads

	// possibleFeatures is all that can be served, and so can be asked for by options:virtio-features.
	possibleFeatures = baseFeatures | ctrlFeatures | offloadFeatures | virtio.NetFMQ | virtio.NetFGuestAnnounce |
		virtio.FAccessPlatform | virtio.NetFGSO | virtio.NetFGuestUSO4 | virtio.NetFGuestUSO6 | virtio.NetFHostUSO

	// maxControlledPairs is how many queue pairs leave a number for the control queue's vring.
	maxControlledPairs = vhostuser.MaxQueuePairs - 1
)

// needs says without which other features a feature must not be offered: one of those in each element
// (virtio 1.2, sections 5.1.3.1 and 6.1). MQ is not here: QEMU needs it offered and has the control queue to itself.
var needs = map[uint64][]uint64{
	virtio.NetFGuestTSO4:     {virtio.NetFGuestCsum},
	virtio.NetFGuestTSO6:     {virtio.NetFGuestCsum},
	virtio.NetFGuestUSO4:     {virtio.NetFGuestCsum},
	virtio.NetFGuestUSO6:     {virtio.NetFGuestCsum},
	virtio.NetFGuestECN:      {virtio.NetFGuestTSO4 | virtio.NetFGuestTSO6},
	virtio.NetFHostTSO4:      {virtio.NetFCsum},
	virtio.NetFHostTSO6:      {virtio.NetFCsum},
	virtio.NetFHostUSO:       {virtio.NetFCsum},
	virtio.NetFHostECN:       {virtio.NetFHostTSO4 | virtio.NetFHostTSO6},
	virtio.NetFGSO:           {virtio.NetFCsum},
	virtio.NetFCtrlRx:        {virtio.NetFCtrlVQ},
	virtio.NetFCtrlRxExtra:   {virtio.NetFCtrlVQ, virtio.NetFCtrlRx},
	virtio.NetFCtrlVLAN:      {virtio.NetFCtrlVQ},
	virtio.NetFCtrlMACAddr:   {virtio.NetFCtrlVQ},
	virtio.NetFGuestOffloads: {virtio.NetFCtrlVQ},
	virtio.NetFGuestAnnounce: {virtio.NetFCtrlVQ, virtio.NetFStatus},
	virtio.FRingPacked:       {virtio.FVersion1},
	virtio.FAccessPlatform:   {virtio.FVersion1},
}

// missing is what feature lacks of f, 0 if nothing.
func missing(f, feature uint64) uint64 {
	for _, one := range needs[feature] {
		if f&one == 0 {
			return one
		}
	}
	return 0
}

// closed is f without what lacks something else.
func closed(f uint64) uint64 {
	for {
		before := f
		for feature := range needs {
			if f&feature != 0 && missing(f, feature) != 0 {
				f &^= feature
			}
		}
		if f == before {
			return f
		}
	}
}

// wanted is what a port with these settings offers to a front end that was offered nothing before.
func (s *settings) wanted() uint64 {
	f := baseFeatures
	if s.pairs > 1 {
		f |= virtio.NetFMQ
	}
	if s.pairs <= maxControlledPairs {
		f |= ctrlFeatures
	}
	if s.offload {
		f |= offloadFeatures
	}
	if s.iommu {
		f |= virtio.FAccessPlatform
	}
	return closed((f | s.add) &^ s.remove)
}

// features reads options:virtio-features: names with + or -, and without a sign as with +.
func (s *settings) features(r *opt.Reader) {
	const key = "virtio-features"
	text, _ := r.Take(key)
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ',' || c == ' ' }) {
		name := strings.TrimPrefix(word, "+")
		set := &s.add
		if rest, ok := strings.CutPrefix(word, "-"); ok {
			name, set = rest, &s.remove
		}
		f, ok := virtio.ParseFeature(strings.ReplaceAll(name, "-", "_"))
		switch {
		case !ok:
			r.RefuseAlone(key, fmt.Sprintf("there is no feature %q", name))
		case set == &s.add && f&possibleFeatures == 0:
			r.RefuseAlone(key, fmt.Sprintf("%s cannot be offered, the switch does not implement it", featureNames(f)))
		case set == &s.add && f == virtio.NetFMQ && s.pairs == 1:
			r.RefuseAlone(key, "MQ needs options:vhost-max-queue-pairs above 1")
		}
		*set |= f
	}
	if both := s.add & s.remove; both != 0 {
		r.RefuseAlone(key, featureNames(both)+": both added and removed")
	}
	offered := s.wanted()
	for left := s.add &^ s.remove &^ offered; left != 0; left &= left - 1 {
		f := uint64(1) << bits.TrailingZeros64(left)
		if lacks := missing(offered, f); lacks != 0 {
			r.RefuseAlone(key, fmt.Sprintf("%s needs %s, which is not offered", featureNames(f), strings.ReplaceAll(featureNames(lacks), " ", " or ")))
		}
	}
	if why := s.impossible(offered); why != "" {
		r.RefuseAlone(key, why)
	}
}

// impossible says why an offer makes no sense, "" if it does.
func (s *settings) impossible(offered uint64) string {
	if s.pairs > maxControlledPairs && offered&virtio.NetFCtrlVQ != 0 {
		return fmt.Sprintf("CTRL_VQ leaves no more than %d queue pairs", maxControlledPairs)
	}
	return ""
}

func featureNames(f uint64) string { return strings.Join(virtio.FeatureNames(f), " ") }
