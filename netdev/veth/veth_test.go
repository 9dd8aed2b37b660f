package veth_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/afpacket"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
	"github.com/gvswitch/gvswitch/netdev/veth"
)

const patience = 10 * time.Second

// name is a device name of this process's own: near ends are in the namespace that
// the tests run in.
func name(i int) string { return fmt.Sprintf("gvt%d.%d", os.Getpid()%1000000, i) }

func options(ns, peer string) netdev.Options {
	return netdev.Options{Map: map[string]string{"netns": ns, "peer": peer}}
}

func exists(dev string) bool { return exec.Command("ip", "link", "show", dev).Run() == nil }

func TestLife(t *testing.T) {
	ns := netdevtest.Netns(t)
	o := options(ns, "eth0")
	o.MTU, o.MAC = 1400, "02:00:00:00:00:11"
	o.Map["peer-mac"] = "02:00:00:00:00:12"
	d, err := veth.Open(name(0), o, &netdevtest.Host{})
	if err != nil {
		t.Fatal(err)
	}
	netdevtest.Eventually(t, patience, "the link up", func() bool { return d.Info().Link })
	i := d.Info()
	if i.Driver != "veth" || i.MTU != 1400 || i.MAC.String() != o.MAC {
		t.Errorf("%+v", i)
	}
	if s := netdevtest.IP(t, "-n "+ns+" link show eth0"); !strings.Contains(s, "02:00:00:00:00:12") || !strings.Contains(s, "mtu 1400") || !strings.Contains(s, ",UP") {
		t.Error(s)
	}
	if s := netdevtest.IP(t, "addr show "+name(0)); strings.Contains(s, "inet") {
		t.Errorf("the near end has an address: %s", s)
	}
	o.MTU = 2000
	if err := d.(netdev.Adjuster).Adjust(o); err != nil {
		t.Fatal(err)
	}
	if s := netdevtest.IP(t, "-n "+ns+" link show eth0"); !strings.Contains(s, "mtu 2000") {
		t.Error(s)
	}
	exchange(t, netdevtest.NewPort(d), ns, "eth0")
	// A change that fails, or comes when the far end has another name, leaves the pair.
	o.MTU = 1 << 20
	if err := d.(netdev.Adjuster).Adjust(o); err == nil || !strings.Contains(err.Error(), "setting MTU") {
		t.Error(err)
	}
	netdevtest.IP(t, "-n "+ns+" link set eth0 down")
	netdevtest.IP(t, "-n "+ns+" link set eth0 name net1")
	o.MTU = 1800
	if err := d.(netdev.Adjuster).Adjust(o); err != nil {
		t.Error(err)
	}
	if now := netdevtest.IP(t, "-o link show "+name(0)); !strings.HasPrefix(now, fmt.Sprintf("%d:", i.IfIndex)) || !strings.Contains(now, "mtu 1800") {
		t.Errorf("index was %d, now %s", i.IfIndex, now)
	}
	netdevtest.IP(t, "-n "+ns+" link set net1 name eth0")
	o.Map["peer"] = "eth1"
	if err := d.(netdev.Adjuster).Adjust(o); !errors.Is(err, netdev.ErrReopen) {
		t.Error(err)
	}
	o.Map["peer"] = "a/b"
	if err := d.(netdev.Adjuster).Adjust(o); err == nil || errors.Is(err, netdev.ErrReopen) {
		t.Error(err)
	}
	o.Map["peer"], o.Map["netns"] = "eth0", "nosuchnetns"
	if err := d.(netdev.Adjuster).Adjust(o); err == nil || errors.Is(err, netdev.ErrReopen) {
		t.Errorf("a namespace that is not there: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if exists(name(0)) || strings.Contains(netdevtest.IP(t, "-n "+ns+" link"), "eth0") {
		t.Error("the pair is still there")
	}
}

// exchange sends a frame each way between the port and the device in ns.
func exchange(t *testing.T, a *netdevtest.Port, ns, dev string) {
	t.Helper()
	d, err := afpacket.Open(dev, netdev.Options{Map: map[string]string{"netns": ns}}, &netdevtest.Host{})
	if err != nil {
		t.Fatal(err)
	}
	b := netdevtest.NewPort(d)
	for _, x := range [2][2]*netdevtest.Port{{a, b}, {b, a}} {
		want := netdevtest.Frame(100, 9, 0x8100_0005)
		x[0].Send(netdevtest.Offload{}, want)
		if got := x[1].ReceiveTest(1, patience); len(got) != 1 || !bytes.Equal(got[0].Frame, want) {
			t.Fatalf("received %x", got)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// What a killed daemon left is used again, or made anew when it leads elsewhere.
func TestTakeOver(t *testing.T) {
	ns, elsewhere := netdevtest.Netns(t), netdevtest.Netns(t)
	leave := func(ns string) { // as AddVeth does
		netdevtest.IP(t, fmt.Sprintf("link add %s type veth peer name eth0 netns %s", name(1), ns))
		netdevtest.Run(t, "ip", "link", "set", name(1), "alias", "gvswitch veth port")
	}
	index := func() string {
		f := strings.Fields(netdevtest.IP(t, "-o link show "+name(1)))
		return f[0]
	}
	leave(ns)
	old := index()
	d, err := veth.Open(name(1), options(ns, "eth0"), &netdevtest.Host{})
	if err != nil {
		t.Fatal(err)
	}
	if index() != old {
		t.Error("made anew without need")
	}
	exchange(t, netdevtest.NewPort(d), ns, "eth0")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	leave(elsewhere)
	d, err = veth.Open(name(1), options(ns, "eth0"), &netdevtest.Host{})
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, netdevtest.NewPort(d), ns, "eth0")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// A pair that somebody deletes, with its namespace even, is made anew.
func TestDeleted(t *testing.T) {
	ns := netdevtest.Netns(t)
	d := netdevtest.Open(t, veth.Open, name(2), options(ns, "eth0"), &netdevtest.Host{})
	a := netdevtest.NewPort(d)
	for range 3 {
		old := d.Info().IfIndex
		netdevtest.IP(t, "-n "+ns+" link del eth0")
		netdevtest.Eventually(t, 2*time.Second, "another pair", func() bool {
			i := d.Info()
			return i.Link && i.IfIndex != old
		})
		exchange(t, a, ns, "eth0")
	}
	netdevtest.IP(t, "netns del "+ns)
	netdevtest.Eventually(t, 2*time.Second, "a fault", func() bool { return d.Info().Fault != "" })
	netdevtest.Eventually(t, 2*time.Second, "the reason", func() bool {
		return strings.Contains(d.Info().Fault, "options:netns: network namespace") && !d.Info().Link
	})
	netdevtest.IP(t, "netns add "+ns)
	netdevtest.Eventually(t, 3*time.Second, "the port back", func() bool { return d.Info().Link })
	exchange(t, a, ns, "eth0")
}

func TestOpenRefuses(t *testing.T) {
	ns := netdevtest.Netns(t)
	netdevtest.IP(t, "link add "+name(3)+" type veth peer name "+name(4))
	t.Cleanup(func() { netdevtest.IP(t, "link del "+name(3)) })
	netdevtest.IP(t, "-n "+ns+" link add used type veth peer name used1")
	before := netdevtest.FDs(t)
	for _, c := range []struct {
		name string
		o    netdev.Options
		want string
	}{
		{name(3), options(ns, "eth0"), "file exists: a device of this name exists that the switch did not make (veth)"},
		{name(5), options(ns, "used"), `options:peer=used: file exists`},
		{name(5), options(ns, ""), "options:peer is missing"},
		{name(5), options(ns, "abcdefghijklmnop"), "16 bytes"},
		{name(5), options("", name(5)), "own name"},
		{name(5), options("nosuchns", "eth0"), `options:netns: network namespace "nosuchns"`},
		{"abcdefghijklmnop", options(ns, "eth0"), "16 bytes"},
		{name(5), netdev.Options{Map: map[string]string{"peer": "eth0", "n_rxq": "1"}}, "options:n_rxq=1: not an option"},
		{name(5), netdev.Options{Map: map[string]string{"peer": "eth0", "peer-mac": "x"}}, `options:peer-mac=x`},
		{name(5), netdev.Options{Map: options(ns, "eth0").Map, MTU: 1 << 20}, "setting MTU"},
	} {
		d, err := veth.Open(c.name, c.o, &netdevtest.Host{})
		if err == nil {
			_ = d.Close()
			t.Errorf("%s %+v accepted", c.name, c.o)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: %v, want %q", c.name, c.o, err, c.want)
		}
	}
	if !exists(name(3)) || exists(name(5)) {
		t.Error("a foreign device is gone, or something was left behind")
	}
	if after := netdevtest.FDs(t); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func TestNoLeaks(t *testing.T) {
	ns := netdevtest.Netns(t)
	netdevtest.NoLeaks(t, func() {
		d, err := veth.Open(name(6), options(ns, "eth0"), &netdevtest.Host{})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	})
	_, err := veth.Open(name(6), options("/proc/self/ns/ipc", "eth0"), &netdevtest.Host{})
	if err == nil || errors.Is(err, unix.EPERM) {
		t.Error(err)
	}
}
