package virtiouser

import (
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/internal/virtio"
)

// features parses names of features.
func features(t *testing.T, names string) (f uint64) {
	t.Helper()
	for _, n := range strings.Fields(names) {
		bit, ok := virtio.ParseFeature(n)
		if !ok {
			t.Fatalf("no feature %s", n)
		}
		f |= bit
	}
	return f
}

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		features string
		offloads Offloads
		layout   layout
		rx, tx   string
	}{
		{"VERSION_1", Offloads{}, together, "simple", "simple"},
		{"ANY_LAYOUT", Offloads{}, together, "simple", "simple"},
		{"", Offloads{}, together, "simple", "standard"},
		{"VERSION_1", Offloads{}, apart, "simple", "standard"},
		{"VERSION_1", Offloads{}, indirect, "simple", "simple"},
		{"VERSION_1 INDIRECT_DESC", Offloads{}, indirect, "simple", "standard"},
		{"VERSION_1 MRG_RXBUF", Offloads{}, together, "mergeable buffer", "simple"},
		{"VERSION_1 IN_ORDER", Offloads{}, together, "inorder simple", "inorder simple"},
		{"VERSION_1 IN_ORDER MRG_RXBUF", Offloads{}, together, "inorder mergeable buffer", "inorder simple"},
		{"VERSION_1 RING_PACKED", Offloads{}, together, "packed ring simple", "packed ring simple"},
		{"VERSION_1 RING_PACKED MRG_RXBUF", Offloads{}, together, "packed ring mergeable buffer", "packed ring simple"},
		{"VERSION_1 RING_PACKED IN_ORDER", Offloads{}, together, "packed ring inorder simple", "packed ring inorder simple"},
		{"VERSION_1 RING_PACKED IN_ORDER MRG_RXBUF CSUM", Offloads{Csum: true}, together, "packed ring inorder mergeable buffer", "packed ring inorder standard"},
		// An offload bit that was negotiated needs headers.
		{"VERSION_1 CSUM", Offloads{Csum: true}, together, "simple", "standard"},
		{"VERSION_1 GUEST_CSUM", Offloads{Csum: true}, together, "standard", "simple"},
		{"VERSION_1 CSUM HOST_TSO4", Offloads{TSO: true}, together, "simple", "standard"},
		// One that was asked for and not granted is no reason to look at headers, but for
		// VLAN strip, which nobody needs to grant.
		{"VERSION_1", Offloads{Csum: true, TSO: true}, together, "simple", "simple"},
		{"VERSION_1", Offloads{LRO: true}, together, "simple", "simple"},
		{"VERSION_1 GUEST_CSUM GUEST_TSO4", Offloads{LRO: true}, together, "standard", "simple"},
		{"VERSION_1", Offloads{Strip: true}, together, "standard", "simple"},
		{"VERSION_1", Offloads{Insert: true}, together, "simple", "standard"},
	} {
		got := Select(features(t, c.features), c.offloads, c.layout)
		if got.Rx != c.rx || got.Tx != c.tx {
			t.Errorf("%q %+v layout %d: %+v, want %s and %s", c.features, c.offloads, c.layout, got, c.rx, c.tx)
		}
	}
}

func TestChoose(t *testing.T) {
	const all = "CSUM GUEST_CSUM MTU MAC GUEST_TSO4 GUEST_TSO6 GUEST_ECN GUEST_UFO HOST_TSO4 HOST_TSO6 HOST_ECN HOST_UFO MRG_RXBUF STATUS CTRL_VQ " +
		"GUEST_ANNOUNCE MQ LOG_ALL ANY_LAYOUT INDIRECT_DESC EVENT_IDX PROTOCOL_FEATURES VERSION_1 RING_PACKED IN_ORDER HOST_USO"
	const base = "ANY_LAYOUT EVENT_IDX PROTOCOL_FEATURES VERSION_1"
	for _, c := range []struct {
		offered string
		s       settings
		config  bool
		want    string
	}{
		{all, settings{queues: 1}, false, base},
		{all, settings{queues: 2}, false, base + " MQ"},
		{all, settings{packed: true, merge: true, order: true}, false, base + " RING_PACKED MRG_RXBUF IN_ORDER"},
		{all, settings{layout: indirect}, false, base + " INDIRECT_DESC"},
		{all, settings{}, true, base + " MTU MAC"}, // nobody would follow the link,
		{all, settings{offloads: Offloads{Csum: true}}, false, base + " CSUM GUEST_CSUM"},
		{all, settings{offloads: Offloads{TSO: true}}, false, base + " CSUM HOST_TSO4 HOST_TSO6 HOST_ECN HOST_USO"},
		{all, settings{offloads: Offloads{LRO: true}}, false, base + " GUEST_CSUM GUEST_TSO4 GUEST_TSO6 GUEST_ECN"},
		{all, settings{offloads: Offloads{Strip: true, Insert: true}}, false, base},
		// A back end that lacks what something builds on.
		{"HOST_TSO4 HOST_ECN GUEST_TSO4 GUEST_ECN", settings{offloads: Offloads{TSO: true, LRO: true}}, false, ""},
		{"CSUM HOST_ECN GUEST_CSUM GUEST_ECN", settings{offloads: Offloads{TSO: true, LRO: true}}, false, "CSUM GUEST_CSUM"},
		{"RING_PACKED MRG_RXBUF", settings{packed: true, merge: true}, false, "MRG_RXBUF"},
	} {
		if got, want := choose(features(t, c.offered), &c.s, c.config), features(t, c.want); got != want {
			t.Errorf("%+v: %v, want %s", c.s, virtio.FeatureNames(got), c.want)
		}
	}
}

func TestOffloadNames(t *testing.T) {
	offered := features(t, "CSUM GUEST_CSUM HOST_TSO4 HOST_TSO6 GUEST_TSO4 GUEST_TSO6")
	if rx, tx := capabilities(offered); rx != "VLAN_STRIP UDP_CKSUM TCP_CKSUM TCP_LRO" || tx != "VLAN_INSERT UDP_CKSUM TCP_CKSUM TCP_TSO MULTI_SEGS" {
		t.Errorf("capabilities %q, %q", rx, tx)
	}
	if rx, tx := offloadNames(features(t, "CSUM"), Offloads{Csum: true}); rx != "" || tx != "UDP_CKSUM TCP_CKSUM MULTI_SEGS" {
		t.Errorf("configuration %q, %q", rx, tx)
	}
}
