package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/peers"
)

// An OVS-DPDK in the same namespace, under load, takes no notice of a gvswitchd
// that starts, forwards, is killed and ends beside it.
func TestBesideOvsDpdk(t *testing.T) {
	ctx := context.Background()
	ovs, err := peers.StartOVS(ctx, t.TempDir(), "0x2")
	if err != nil {
		t.Fatal(err)
	}
	defer ovs.Stop()
	var sockets []string
	for _, name := range []string{"vu0", "vu1"} {
		socket, err := ovs.AddVhost(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		sockets = append(sockets, socket)
	}
	pmd, err := peers.StartTestpmd(ctx, peers.TestpmdConfig{Sockets: sockets})
	if err != nil {
		t.Fatal(err)
	}
	defer pmd.Stop()
	command(ctx, t, pmd, "set fwd flowgen")
	command(ctx, t, pmd, "start")
	goesOn := func(when string) {
		t.Helper()
		before, err := pmd.Stats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, 45*time.Second, "OVS-DPDK forwards "+when, func() error {
			now, err := pmd.Stats(ctx)
			if err != nil {
				return err
			}
			for i := range now {
				if now[i].Rx < before[i].Rx+1000 {
					return fmt.Errorf("port %d: from %d to %d packets", i, before[i].Rx, now[i].Rx)
				}
			}
			return nil
		})
		for _, name := range []string{"vu0", "vu1"} {
			if state, err := ovs.Vsctl(ctx, "get", "Interface", name, "link_state", "link_resets"); err != nil || state != "up\n0\n" && state != "up\n1\n" {
				t.Errorf("OVS's %s %s: %q, %v", name, when, state, err)
			}
		}
	}
	goesOn("alone")
	s := NewSwitch(t, Options{Netns: ovs.Netns()})
	s.Ctl("add-br", "gvbr0")
	var stations []station
	for i, port := range []string{"gv0", "gv1"} {
		n := newNetns(t, port)
		s.Ctl("add-port", "gvbr0", port, "--", "set", "Interface", port, "type=veth", "options:peer=eth0", "options:netns="+n.Name)
		ip, ip6 := addrs(i + 1)
		if err := n.AddAddrs(ctx, "eth0", ip, ip6); err != nil {
			t.Fatal(err)
		}
		stations = append(stations, newStation(port, i+1, n))
	}
	pingAll(t, stations...)
	transfer(t, stations[0], stations[1], stations[1].ip)
	goesOn("beside gvswitchd")
	s.Kill()
	s.Start()
	goesOn("after a crash of gvswitchd")
	pingAll(t, stations...)
}
