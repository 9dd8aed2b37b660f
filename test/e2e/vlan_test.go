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
	ten := accessStation(s, 10, 1)
	twenty := accessStation(s, 20, 2)

	trunk := bootUML(t, s, "trunk", "trunks=10,20")
	trunk10, trunk20 := tagged(t, trunk, 10, 3), tagged(t, trunk, 20, 3)

	// Its own VLAN 10 comes untagged, VLAN 20 tagged.
	native := bootUML(t, s, "natun", "tag=10", "trunks=20", "vlan_mode=native-untagged")
	untagged10, native20 := onDevice(t, native, "eth0", 10, 4), tagged(t, native, 20, 4)

	// All comes tagged.
	natag := bootUML(t, s, "natag", "tag=20", "trunks=10", "vlan_mode=native-tagged")
	natag10, natag20 := tagged(t, natag, 10, 5), tagged(t, natag, 20, 5)

	// A port without settings is a trunk of all VLANs.
	all10 := tagged(t, bootUML(t, s, "all"), 10, 6)

	pingAll(t, ten, trunk10, untagged10, natag10, all10)
	pingAll(t, twenty, trunk20, native20, natag20)
	transfer(t, all10, ten, ten.ip)
	transfer(t, ten, all10, all10.ip)
	transfer(t, trunk20, twenty, twenty.ip6)
	transfer(t, trunk10, untagged10, untagged10.ip)
	if err := want(s.Ctl("fdb/show", "br0"), "   10  ", "   20  "); err != nil {
		t.Errorf("fdb/show: %v", err)
	}

	// From VLAN 10 into VLAN 20: only the tag is in the way.
	intruder := stationIn(20, 9, "intruder", ten.host)
	if err := ten.host.(*peers.Netns).AddAddrs(context.Background(), "eth0", intruder.ip+"/24"); err != nil {
		t.Fatal(err)
	}
	mustNotPing(t, intruder, twenty)
	mustNotPing(t, intruder, trunk20)
	// A change while traffic flows lets it through, and cuts it off from VLAN 10.
	s.Ctl("set", "Port", "acc10", "tag=20")
	reachable(context.Background(), t, intruder, twenty, pingTime)
	reachable(context.Background(), t, intruder, trunk20, pingTime)
	mustNotPing(t, ten, trunk10)
}

// stationIn is station number n of a VLAN; each VLAN has subnets of its own, so that
// one host can be in several.
func stationIn(vlan, n int, name string, h peers.Host) station {
	return station{
		name: fmt.Sprintf("%s in VLAN %d", name, vlan), host: h,
		ip: fmt.Sprintf("10.9.%d.%d", vlan, n), ip6: fmt.Sprintf("fd09:%d::%d", vlan, n),
	}
}

// accessStation is a namespace on an access port.
func accessStation(s *Switch, vlan, n int) station {
	s.t.Helper()
	name := fmt.Sprintf("acc%d", vlan)
	st := stationIn(vlan, n, name, nil)
	st.host = s.AddNetns(name, st.ip+"/24", st.ip6+"/64")
	s.Ctl("set", "Port", name, fmt.Sprintf("tag=%d", vlan))
	return st
}

// bootUML boots a guest without addresses on a port with these settings.
func bootUML(t *testing.T, s *Switch, name string, settings ...string) *guest.Guest {
	t.Helper()
	socket := s.AddVhost(name)
	if len(settings) > 0 {
		s.Ctl(append([]string{"set", "Port", name}, settings...)...)
	}
	return guest.Boot(t, guest.Config{Name: name, Kind: guest.UML, Socket: socket})
}

// tagged makes the guest's eth0.VLAN. (The guest's kernel can; this machine's may
// lack VLAN devices.)
func tagged(t *testing.T, g *guest.Guest, vlan, n int) station {
	t.Helper()
	dev := fmt.Sprintf("eth0.%d", vlan)
	if _, err := g.Run(context.Background(), fmt.Sprintf("ip link add link eth0 name %s type vlan id %d && ip link set %s up", dev, vlan, dev)); err != nil {
		t.Fatal(err)
	}
	return onDevice(t, g, dev, vlan, n)
}

// onDevice gives a device of a guest the addresses of a station.
func onDevice(t *testing.T, g *guest.Guest, dev string, vlan, n int) station {
	t.Helper()
	st := stationIn(vlan, n, g.Name, g)
	if _, err := g.Run(context.Background(), fmt.Sprintf("ip addr add %s/24 dev %s && ip -6 addr add %s/64 dev %s nodad", st.ip, dev, st.ip6, dev)); err != nil {
		t.Fatal(err)
	}
	return st
}
