package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/guest"
	"github.com/gvswitch/gvswitch/test/peers"
)

// The demonstration of README.md: two guests, a namespace behind a veth, a tap
// and the host on one bridge, nobody's offload settings touched.
func TestDemoTopology(t *testing.T) {
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	a := bootGuest(t, "a", 1, guest.Config{Kind: guest.UML, Socket: s.AddVhost("vu0")})
	b := bootGuest(t, "b", 2, guest.Config{Kind: guest.UML, Socket: s.AddVhost("vu1")})
	ns := addNamespace(s, "veth0", 3)
	tap := addTap(t, s, "tap0", 4)
	host := addInternal(t, s, 5)
	all := []station{a, b, ns, tap, host}

	pingAll(t, all...)
	for _, pair := range [][2]station{{a, b}, {b, a}, {a, ns}, {ns, a}, {a, tap}, {tap, a}, {a, host}, {host, a}, {ns, tap}, {tap, host}, {host, ns}} {
		transfer(t, pair[0], pair[1], pair[1].ip)
	}
	for _, pair := range [][2]station{{a, b}, {a, ns}, {ns, a}, {tap, b}, {host, b}} {
		transfer(t, pair[0], pair[1], pair[1].ip6)
	}

	if err := want(s.Ctl("show"), "br0", "vu0", "vu1", "veth0", "tap0", "dpdkvhostuser"); err != nil {
		t.Errorf("show: %v", err)
	}
	pingAll(t, all...)
	if err := want(s.Ctl("fdb/show", "br0"), "02:00:00:00:00:01", "02:00:00:00:00:02"); err != nil {
		t.Errorf("fdb/show: %v", err)
	}
	if err := want(s.Ctl("dump-ports", "--names", "br0"), "vu0", "vu1", "veth0", "tap0", "rx pkts=", "tx pkts="); err != nil {
		t.Errorf("dump-ports: %v", err)
	}
	for _, port := range []string{"vu0", "vu1", "veth0", "tap0", "br0"} {
		// OVS writes them every five seconds.
		eventually(t, 45*time.Second, "counters of "+port, func() error {
			for _, key := range []string{"rx_packets", "tx_packets", "rx_bytes", "tx_bytes"} {
				if n, err := s.statistic(port, key); err != nil || n == 0 {
					return fmt.Errorf("%s is %d: %v", key, n, err)
				}
			}
			return nil
		})
	}
	if state := strings.TrimSpace(s.Ctl("get", "Interface", "vu0", "link_state")); state != "up" {
		t.Errorf("link_state of vu0 is %s with a guest attached", state)
	}

	// The same bridge takes other kinds of guest.
	q := bootGuest(t, "q", 6, guest.Config{Kind: guest.QEMU, Socket: s.AddVhost("vu2")})
	pingAll(t, q, a, ns, tap, host)
	transfer(t, q, a, a.ip)
	transfer(t, ns, q, q.ip6)
	testEchoByTestpmd(t, s)
}

// DPDK's testpmd answers ARP and ICMP in its mode icmpecho. It answers for every
// address, so it gets a VLAN with a namespace that asks.
func testEchoByTestpmd(t *testing.T, s *Switch) {
	t.Helper()
	ctx := context.Background()
	pmd, err := peers.StartTestpmd(ctx, peers.TestpmdConfig{Sockets: []string{s.AddVhost("pmd0")}})
	if err != nil {
		t.Fatal(err)
	}
	defer pmd.Stop()
	asks := addNamespace(s, "asks", 7)
	s.Ctl("set", "Port", "pmd0", "tag=77", "--", "set", "Port", "asks", "tag=77")
	command(ctx, t, pmd, "set fwd icmpecho")
	command(ctx, t, pmd, "start")
	if err := peers.Ping(ctx, asks.host, "10.9.0.99", pingTime); err != nil {
		t.Errorf("testpmd: %v", err)
	}
}

// addTap adds a tap port whose kernel side is in a namespace of its own.
func addTap(t *testing.T, s *Switch, name string, n int) station {
	t.Helper()
	ns := newNetns(t, name)
	s.AddPort(name, "type=tap", "options:netns="+ns.Name)
	ip, ip6 := addrs(n)
	if err := ns.AddAddrs(context.Background(), name, ip, ip6); err != nil {
		t.Fatal(err)
	}
	return newStation(name, n, ns)
}

// Internal ports and taps are moved to namespaces by others, as Neutron's agents do
// it: their traffic goes on.
func TestMovedDevices(t *testing.T) {
	ctx := context.Background()
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	var all []station
	for i, kind := range []string{"internal", "tap"} {
		name := "moved" + kind[:1]
		s.AddPort(name, "type="+kind)
		ns := newNetns(t, name)
		if _, err := s.Netns.Run(ctx, "ip link set "+name+" netns "+ns.Name); err != nil {
			t.Fatal(err)
		}
		ip, ip6 := addrs(i + 1)
		if err := ns.AddAddrs(ctx, name, ip, ip6); err != nil {
			t.Fatal(err)
		}
		all = append(all, newStation(name, i+1, ns))
	}
	all = append(all, addNamespace(s, "veth0", 3))
	pingAll(t, all...)
	transfer(t, all[0], all[1], all[1].ip)
	transfer(t, all[2], all[0], all[0].ip6)
	s.Ctl("del-port", "movedi")
	if left := links(ctx, t, all[0].host.(*peers.Netns)); left != "lo" {
		t.Errorf("devices left in the namespace of a deleted port: %s", left)
	}
}

// addInternal sets the bridge's own port up, which it is not by itself, and gives it
// addresses, in the switch's namespace.
func addInternal(t *testing.T, s *Switch, n int) station {
	t.Helper()
	if state := s.Ctl("get", "Interface", "br0", "admin_state", "link_state"); state != "down\ndown\n" {
		t.Errorf("an internal port that nobody set up is %q", state)
	}
	ip, ip6 := addrs(n)
	if err := s.Netns.AddAddrs(context.Background(), "br0", ip, ip6); err != nil {
		t.Fatal(err)
	}
	s.Ctl("--timeout=10", "wait-until", "Interface", "br0", "admin_state=up", "link_state=up")
	return newStation("br0", n, s.Netns)
}
