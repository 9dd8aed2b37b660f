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

// controlled is a Linux guest whose control queue the switch serves: User Mode Linux.
type controlled struct {
	station
	s    *Switch
	port string
}

// run runs a command in the guest.
func (c *controlled) run(t *testing.T, command string) string {
	t.Helper()
	out, err := c.host.Run(context.Background(), command)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// expect waits for a value in the port's status; "" is no such key.
func (c *controlled) expect(t *testing.T, key, value string) {
	t.Helper()
	// The row is written every five seconds.
	eventually(t, 30*time.Second, "status:"+key, func() error {
		got, err := c.s.TryCtl("--if-exists", "get", "Interface", c.port, "status:"+key)
		if err != nil {
			return err
		}
		if got = strings.Trim(got, "\"\n"); got != value {
			return fmt.Errorf("is %q, want %q", got, value)
		}
		return nil
	})
}

// A Linux guest uses its control queue: pairs, address, receive mode, VLANs, offloads, announcement.
func TestControlQueue(t *testing.T) {
	ctx := context.Background()
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	socket := s.AddVhost("vu0", "options:n_rxq=2", "options:vhost-offload=true", "options:virtio-features=+GUEST_ANNOUNCE")
	g := &controlled{bootGuest(t, "g", 1, guest.Config{Kind: guest.UML, Socket: socket}), s, "vu0"}
	ns := addNamespace(s, "veth0", 2)
	pingAll(t, g.station, ns)
	g.expect(t, "control-queue", "served")
	g.expect(t, "guest-mac", "02:00:00:00:00:01") // the test's own way to set it
	g.expect(t, "queue-pairs-in-use", "1")

	t.Run("pairs", func(t *testing.T) {
		if err := want(g.run(t, "ethtool -l eth0"), "Combined:	2"); err != nil {
			t.Error(err)
		}
		for _, n := range []string{"1", "2"} {
			g.run(t, "ethtool -L eth0 combined "+n)
			g.expect(t, "queue-pairs-in-use", n)
			pingAll(t, g.station, ns)
			transfer(t, g.station, ns, ns.ip)
			transfer(t, ns, g.station, g.ip)
		}
		g.expect(t, "n_rxq", "2")
	})

	t.Run("address", func(t *testing.T) {
		g.run(t, "ip link set eth0 address 02:00:00:00:00:77")
		g.expect(t, "guest-mac", "02:00:00:00:00:77")
		if _, err := ns.host.Run(ctx, "ip neigh flush all"); err != nil {
			t.Fatal(err)
		}
		pingAll(t, g.station, ns)
	})

	// Frames to somebody else, whom nobody knows, are flooded.
	stranger := func(t *testing.T) {
		t.Helper()
		if _, err := ns.host.Run(ctx, "ip neigh replace 10.9.0.200 lladdr 02:00:00:00:00:99 dev eth0; ping -c 5 -i 0.2 -W 1 10.9.0.200 || true"); err != nil {
			t.Fatal(err)
		}
	}
	// sniff is how many of them the guest sees meanwhile.
	sniff := func(t *testing.T, flags, want string) string {
		t.Helper()
		stop, err := g.host.Background(ctx, "sh -c 'tcpdump "+flags+" --immediate-mode -l -n -i eth0 host 10.9.0.200 >/tmp/seen 2>/tmp/err'")
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		g.run(t, "until grep -q listening /tmp/err; do sleep 0.1; done")
		stranger(t)
		return strings.TrimSpace(g.run(t, "sleep 1; for i in $(seq 50); do [ $(grep -c 10.9.0.200 /tmp/seen) = "+want+" ] && break; sleep 0.2; done; grep -c 10.9.0.200 /tmp/seen || true"))
	}
	t.Run("receive mode", func(t *testing.T) {
		if n := sniff(t, "-p", "0"); n != "0" {
			t.Errorf("the guest got %s frames that are not for it", n)
		}
		eventually(t, 30*time.Second, "frames that the guest does not want", func() error {
			if n, err := s.statistic("vu0", "tx_drop_filtered"); err != nil || n < 5 {
				return fmt.Errorf("tx_drop_filtered is %d, %w", n, err)
			}
			return nil
		})
		// Promiscuous, it sees them; on a busy machine tcpdump may miss some.
		before, _ := s.statistic("vu0", "tx_drop_filtered")
		n := sniff(t, "", "5")
		after, _ := s.statistic("vu0", "tx_drop_filtered")
		t.Logf("promiscuous, the guest saw %s of 5 frames; %d more were filtered", n, after-before)
		if n == "" || n == "0" {
			t.Error("the guest got nothing though it is promiscuous")
		}
		g.run(t, "ip link set eth0 promisc on")
		g.expect(t, "guest-receives", "everything")
		g.run(t, "ip link set eth0 promisc off")
		g.run(t, "ip link set eth0 allmulticast on")
		g.expect(t, "guest-receives", receives(t, g, "all multicast"))
		g.run(t, "ip link set eth0 allmulticast off")
		pingAll(t, g.station, ns)
	})

	t.Run("VLANs", func(t *testing.T) {
		g.run(t, "ip link add link eth0 name eth0.10 type vlan id 10 && ip link set eth0.10 up && ip addr add 10.9.10.1/24 dev eth0.10")
		access := stationIn(10, 2, "access", nil)
		access.host = s.AddNetns("access", access.ip+"/24", access.ip6+"/64")
		s.Ctl("set", "Port", "access", "tag=10")
		if err := peers.Ping(ctx, access.host, "10.9.10.1", pingTime); err != nil {
			t.Error(err)
		}
		// Without the guest's VLAN device, nothing of that VLAN is sent to it any more.
		g.run(t, "ip link del eth0.10")
		before, _ := s.statistic("vu0", "tx_drop_filtered")
		_, _ = access.host.Run(ctx, "ip neigh flush all; ping -c 3 -i 0.2 -W 1 10.9.10.1")
		eventually(t, 30*time.Second, "frames of a VLAN that the guest does not want", func() error {
			if n, err := s.statistic("vu0", "tx_drop_filtered"); err != nil || n < before+3 {
				return fmt.Errorf("tx_drop_filtered is %d, was %d, %w", n, before, err)
			}
			return nil
		})
		pingAll(t, g.station, ns)
	})

	t.Run("offloads", func(t *testing.T) {
		big := func() string {
			t.Helper()
			stop, err := g.host.Background(ctx, "sh -c 'tcpdump -p --immediate-mode -l -n -i eth0 greater 2000 and src "+ns.ip+" >/tmp/big 2>/tmp/err'")
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			g.run(t, "until grep -q listening /tmp/err; do sleep 0.1; done")
			transfer(t, ns, g.station, g.ip)
			return strings.TrimSpace(g.run(t, "sleep 1; grep -c length /tmp/big || true"))
		}
		// Not the kernel's own joining of segments.
		g.run(t, "ethtool -K eth0 gro off")
		g.run(t, "ethtool -K eth0 rx-gro-hw on")
		if n := big(); n == "0" {
			t.Error("the guest gets no big segments, though it takes them")
		}
		g.run(t, "ethtool -K eth0 rx-gro-hw off")
		g.expect(t, "guest-offloads-off", "GUEST_TSO4 GUEST_TSO6 GUEST_ECN")
		if n := big(); n != "0" {
			t.Errorf("the guest got %s big segments that it does not take any more", n)
		}
		g.run(t, "ethtool -K eth0 rx-gro-hw on")
		g.expect(t, "guest-offloads-off", "")
		if n := big(); n == "0" {
			t.Error("the guest gets no big segments, though it takes them again")
		}
		g.run(t, "ethtool -K eth0 tso off")
		transfer(t, g.station, ns, ns.ip)
	})

	t.Run("announcement", func(t *testing.T) {
		done := make(chan error, 1)
		go func() {
			// A gratuitous ARP request: the guest asks for its own address.
			_, err := ns.host.Run(ctx, "timeout 20 tcpdump --immediate-mode -c 1 -n -i eth0 arp src host "+g.ip+" and dst host "+g.ip)
			done <- err
		}()
		for heard := false; !heard; { // tcpdump may not listen yet
			s.Ctl("vhost-user/announce", "vu0")
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("no announcement: %v", err)
				}
				heard = true
			case <-time.After(time.Second):
			}
		}
		if _, err := s.TryCtl("vhost-user/announce", "veth0"); err == nil || !strings.Contains(err.Error(), "no guest") {
			t.Errorf("announce veth0: %v", err)
		}
	})

	// Another life of the driver begins with nothing set, and nobody touches the old one's rings.
	t.Run("driver", func(t *testing.T) {
		for range 3 {
			g.run(t, "dev=$(basename $(readlink /sys/class/net/eth0/device)); echo $dev >/sys/bus/virtio/drivers/virtio_net/unbind; echo $dev >/sys/bus/virtio/drivers/virtio_net/bind")
			g.run(t, "until [ -e /sys/class/net/eth0 ]; do sleep 0.1; done; ip link set eth0 up && ip addr add "+g.ip+"/24 dev eth0 && ip -6 addr add "+g.ip6+"/64 dev eth0 nodad")
			g.expect(t, "queue-pairs-in-use", "1")
			g.expect(t, "guest-mac", "")
			if _, err := ns.host.Run(ctx, "ip neigh flush all"); err != nil {
				t.Fatal(err)
			}
			pingAll(t, g.station, ns)
			transfer(t, ns, g.station, g.ip)
		}
	})
}

// receives is what the status says of a guest's receive mode when it has this among the rest.
func receives(t *testing.T, g *controlled, words string) string {
	t.Helper()
	var got string
	eventually(t, 30*time.Second, words, func() error {
		out, err := g.s.TryCtl("get", "Interface", g.port, "status:guest-receives")
		if err != nil {
			return err
		}
		got = strings.Trim(out, "\"\n")
		return want(got, words)
	})
	return got
}
