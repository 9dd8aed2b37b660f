package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/gvswitch/gvswitch/test/guest"
	"github.com/gvswitch/gvswitch/test/peers"
)

// Access ports of two VLANs, a trunk of both, and trunks with a native VLAN: each
// station reaches those of its VLAN and no other.
func TestVLANs(t *testing.T) {
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	ten := addNamespace(s, "acc10", 1)
	twenty := addNamespace(s, "acc20", 2)
	s.Ctl("set", "Port", "acc10", "tag=10", "--", "set", "Port", "acc20", "tag=20")

	trunk := s.AddNetns("trunk")
	s.Ctl("set", "Port", "trunk", "trunks=10,20")
	trunk10, trunk20 := subinterface(t, trunk, 10, 3), subinterface(t, trunk, 20, 4)

	// Its own VLAN 10 comes untagged, VLAN 20 tagged.
	untagged := addNamespace(s, "natun", 5)
	s.Ctl("set", "Port", "natun", "tag=10", "trunks=20", "vlan_mode=native-untagged")
	untagged20 := subinterface(t, untagged.host.(*peers.Netns), 20, 6)

	// All tagged; what it sends without a tag is in VLAN 20.
	tagged := s.AddNetns("natag")
	s.Ctl("set", "Port", "natag", "tag=20", "trunks=10", "vlan_mode=native-tagged")
	tagged10, tagged20 := subinterface(t, tagged, 10, 7), subinterface(t, tagged, 20, 8)

	// A guest that tags, on a port without settings: a trunk of all VLANs.
	g := bootGuest(t, "g", 9, guest.Config{Kind: guest.UML, Socket: s.AddVhost("vu0"), VLAN: 10})

	vlan10 := []station{ten, trunk10, untagged, tagged10, g}
	vlan20 := []station{twenty, trunk20, untagged20, tagged20}
	pingAll(t, vlan10...)
	pingAll(t, vlan20...)
	transfer(t, g, ten, ten.ip)
	transfer(t, ten, g, g.ip)
	transfer(t, trunk20, twenty, twenty.ip6)
	mustNotPing(t, ten, twenty)
	mustNotPing(t, twenty, ten)
	mustNotPing(t, g, twenty)

	if err := want(s.Ctl("fdb/show", "br0"), "10  02:00:00:00:00:09"); err != nil {
		t.Errorf("fdb/show: %v", err)
	}
	// A change while traffic flows.
	s.Ctl("set", "Port", "acc10", "tag=20")
	reachable(context.Background(), t, ten, twenty, pingTime)
	mustNotPing(t, ten, g)
}

// subinterface puts a VLAN device of n's eth0 into a namespace of its own, so that
// stations with addresses of one subnet do not share a routing table.
func subinterface(t *testing.T, n *peers.Netns, vlan, number int) station {
	t.Helper()
	ctx := context.Background()
	inner := newNetns(t, "sub")
	dev := fmt.Sprintf("eth0.%d", vlan)
	if _, err := n.Run(ctx, fmt.Sprintf("ip link set eth0 up && ip link add link eth0 name %s type vlan id %d && ip link set %s netns %s",
		dev, vlan, dev, inner.Name)); err != nil {
		t.Fatal(err)
	}
	ip, ip6 := addrs(number)
	if err := inner.AddAddrs(ctx, dev, ip, ip6); err != nil {
		t.Fatal(err)
	}
	return newStation(fmt.Sprintf("%s.%d", n.Name, vlan), number, inner)
}
