package vhostuser

import (
	"errors"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/netdev"
)

// What options:virtio-features makes of an offer, or why it is refused.
func TestFeatureOption(t *testing.T) {
	const base = baseFeatures | ctrlFeatures
	for _, c := range []struct {
		text   string
		others map[string]string
		want   uint64
		err    string
	}{
		{"", nil, base, ""},
		{"-MRG_RXBUF,-event-idx -INDIRECT_DESC", nil, base &^ (virtio.NetFMrgRxbuf | virtio.FEventIdx | virtio.FIndirectDesc), ""},
		{"+GUEST_ANNOUNCE", nil, base | virtio.NetFGuestAnnounce, ""},
		{"GUEST_ANNOUNCE", nil, base | virtio.NetFGuestAnnounce, ""},
		{"-CTRL_VQ", nil, baseFeatures, ""},
		{"-VERSION_1", nil, base &^ (virtio.FVersion1 | virtio.FRingPacked), ""},
		{"-RING_PACKED", nil, base &^ virtio.FRingPacked, ""},
		{"+CSUM,+HOST_TSO4", nil, base | virtio.NetFCsum | virtio.NetFHostTSO4, ""},
		{"-CSUM", map[string]string{"vhost-offload": "true"}, base | offloadFeatures&^(virtio.NetFCsum|virtio.NetFHostTSO4|virtio.NetFHostTSO6|virtio.NetFHostECN), ""},
		{"-GUEST_TSO4", map[string]string{"vhost-offload": "true"}, base | offloadFeatures&^virtio.NetFGuestTSO4, ""},
		{"-MQ", map[string]string{"n_rxq": "4"}, base, ""},
		{"+MQ", map[string]string{"n_rxq": "4"}, base | virtio.NetFMQ, ""},
		{"", map[string]string{"n_rxq": "128"}, baseFeatures | virtio.NetFMQ, ""},
		{"+NOSUCH", nil, 0, `there is no feature "NOSUCH"`},
		{"-", nil, 0, `there is no feature ""`},
		{"+HASH_REPORT", nil, 0, "HASH_REPORT cannot be offered, the switch does not implement it"},
		{"-HASH_REPORT", nil, base, ""},
		{"+HOST_TSO4", nil, 0, "HOST_TSO4 needs CSUM, which is not offered"},
		{"+CSUM,+HOST_ECN", nil, 0, "HOST_ECN needs HOST_TSO4 or HOST_TSO6, which is not offered"},
		{"+CTRL_RX,-CTRL_VQ", nil, 0, "CTRL_RX needs CTRL_VQ, which is not offered"},
		{"+MQ", nil, 0, "MQ needs options:vhost-max-queue-pairs above 1"},
		{"+MRG_RXBUF,-MRG_RXBUF", nil, 0, "MRG_RXBUF: both added and removed"},
		{"+CTRL_VQ", map[string]string{"n_rxq": "128"}, 0, "CTRL_VQ leaves no more than 127 queue pairs"},
	} {
		m := map[string]string{"virtio-features": c.text}
		for k, v := range c.others {
			m[k] = v
		}
		s, err := parse("p", true, netdev.Options{RunDir: "/run", Map: m})
		var setting *netdev.SettingError
		switch {
		case c.err == "" && err != nil:
			t.Errorf("%q: %v", c.text, err)
		case c.err != "" && (!errors.As(err, &setting) || setting.Key != "virtio-features" || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%q: error %v, want one with %q that can be done without", c.text, err, c.err)
		case c.err == "" && s.wanted() != c.want:
			t.Errorf("%q: lacks %v, has %v too many", c.text, featureNames(c.want&^s.wanted()), featureNames(s.wanted()&^c.want))
		}
	}
}

// Every offer that any set of removals leads to is one that a driver may acknowledge whole.
func TestOffersAreWhole(t *testing.T) {
	for feature := range needs {
		if feature&possibleFeatures != 0 && missing(possibleFeatures, feature) != 0 {
			t.Errorf("%s can be offered, but what it needs cannot", featureNames(feature))
		}
	}
	for bit := range 64 {
		f := closed(possibleFeatures &^ (1 << bit))
		for feature := range needs {
			if f&feature != 0 && missing(f, feature) != 0 {
				t.Errorf("without bit %d: %s lacks something", bit, featureNames(feature))
			}
		}
	}
}

// The status tells in names what was offered, acknowledged and chosen.
func TestDescribeRings(t *testing.T) {
	s := map[string]string{}
	describeRings(s, virtio.FVersion1|virtio.FRingPacked|virtio.FInOrder|virtio.NetFMrgRxbuf|virtio.NetFCsum)
	for k, v := range map[string]string{
		"ring": "packed", "ring-in-order": "true", "ring-event-idx": "false", "ring-indirect": "false", "mergeable": "true", "header-length": "12", "header-parsed": "true",
	} {
		if s[k] != v {
			t.Errorf("%s: %q, want %q", k, s[k], v)
		}
	}
	describeRings(s, 0)
	for k, v := range map[string]string{"ring": "split", "ring-in-order": "false", "mergeable": "false", "header-length": "10", "header-parsed": "false"} {
		if s[k] != v {
			t.Errorf("legacy %s: %q, want %q", k, s[k], v)
		}
	}
}
