package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/peers"
	"github.com/gvswitch/gvswitch/test/proc"
)

// bondOVS is a private Open vSwitch with a bond: the other end of ours.
type bondOVS struct {
	t  *testing.T
	db *peers.OVSDB
	ns *peers.Netns
}

func startBondOVS(t *testing.T) *bondOVS {
	t.Helper()
	dir, err := os.MkdirTemp("", "gvo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	o := &bondOVS{t: t, ns: newNetns(t, "ovs")}
	if o.db, err = peers.StartOVSDB(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.db.Stop)
	cmd := o.ns.Wrap("ovs-vswitchd", o.db.Address, "--unixctl="+filepath.Join(dir, "ctl"), "--pidfile="+filepath.Join(dir, "pid"))
	cmd.Env = append(os.Environ(), "OVS_RUNDIR="+dir, "OVS_LOGDIR="+dir, "OVS_DBDIR="+dir)
	sw, err := proc.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sw.Stop(10 * time.Second)
		if t.Failed() {
			t.Logf("log of ovs-vswitchd:\n%s", sw.Output())
		}
	})
	o.vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")
	return o
}

func (o *bondOVS) vsctl(args ...string) {
	o.t.Helper()
	if _, err := o.db.Vsctl(context.Background(), args...); err != nil {
		o.t.Fatal(err)
	}
}

func shell(t *testing.T, n *peers.Netns, command string) string {
	t.Helper()
	out, err := n.Run(context.Background(), command)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A bond of two links to an Open vSwitch, which speaks LACP with ours: both find each other, a lost link is left at
// once and one that is silent after three seconds, and no packet comes twice.
func TestBondWithOVS(t *testing.T) {
	for _, c := range []struct{ mode, ours, theirs string }{
		{"balance-tcp", "active", "passive"},
		{"balance-slb", "passive", "active"},
		{"active-backup", "off", "off"},
	} {
		t.Run(c.mode, func(t *testing.T) { testBondWithOVS(t, c.mode, c.ours, c.theirs) })
	}
}

func testBondWithOVS(t *testing.T, mode, ours, theirs string) {
	s := NewSwitch(t, Options{})
	o := startBondOVS(t)
	var join []string
	for i := range 2 {
		join = append(join, fmt.Sprintf("ip link add w%d type veth peer name w%d netns %s && ip link set w%d up", i, i, o.ns.Name, i))
	}
	shell(t, s.Netns, strings.Join(join, " && "))
	shell(t, o.ns, "ip link set w0 up && ip link set w1 up")
	s.Ctl("add-br", "br0")
	a := addNamespace(s, "veth0", 1)
	s.Ctl("add-bond", "br0", "bond0", "w0", "w1", "bond_mode="+mode, "lacp="+ours, "other_config:lacp-time=fast", "other_config:bond-primary=w0")
	o.vsctl("add-bond", "br0", "bond0", "w0", "w1", "bond_mode="+mode, "lacp="+theirs, "other_config:lacp-time=fast", "other_config:bond-primary=w0")
	far := newNetns(t, "far")
	shell(t, o.ns, "ip link add far type veth peer name eth0 netns "+far.Name+" && ip link set far up && ethtool -K far tx off gro off")
	shell(t, far, "ethtool -K eth0 tx off")
	ip, ip6 := addrs(2)
	if err := far.AddAddrs(context.Background(), "eth0", ip, ip6); err != nil {
		t.Fatal(err)
	}
	o.vsctl("add-port", "br0", "far")
	b := newStation("far", 2, far)

	enabled := func(n int) func() error {
		return func() error {
			show := s.Ctl("bond/show", "bond0")
			if k := strings.Count(show, ": enabled"); k != n {
				return fmt.Errorf("%d members enabled:\n%s", k, show)
			}
			if ours != "off" {
				return want(show, "lacp_status: negotiated")
			}
			return nil
		}
	}
	eventually(t, 30*time.Second, "both members enabled", enabled(2))
	if ours != "off" {
		if err := want(s.Ctl("lacp/show", "bond0"), "current attached", "collecting distributing"); err != nil {
			t.Error(err)
		}
		if got := s.Ctl("get", "Interface", "w0", "lacp_current"); got != "true\n" {
			t.Errorf("lacp_current is %q", got)
		}
	}
	pingAll(t, a, b)
	once := func(when string) {
		t.Helper()
		out := must(a.host.Run(context.Background(), "busybox ping -c 20 -i 0.05 -W 2 "+b.ip))(t)
		if strings.Contains(out, "DUP!") || !strings.Contains(out, " 0% packet loss") {
			t.Errorf("%s:\n%s", when, out)
		}
	}
	once("with two links")
	active := strings.Trim(strings.TrimSpace(s.Ctl("get", "Port", "bond0", "bond_active_slave")), `"`)
	if mac := shell(t, s.Netns, "cat /sys/class/net/w0/address /sys/class/net/w1/address"); active == "" || !strings.Contains(mac, active) {
		t.Errorf("bond_active_slave is %q, the members have %q", active, mac)
	}

	shell(t, o.ns, "ip link set w0 down")
	eventually(t, 45*time.Second, "one member enabled", enabled(1))
	pingAll(t, a, b)
	once("with the second link")
	shell(t, o.ns, "ip link set w0 up")
	eventually(t, 30*time.Second, "both members enabled again", enabled(2))
	shell(t, s.Netns, "ip link set w1 down")
	eventually(t, 45*time.Second, "one member enabled", enabled(1))
	pingAll(t, a, b)
	once("with the first link")
	if got := s.Ctl("bond/list"); !strings.Contains(got, "bond0\t"+mode) {
		t.Errorf("bond/list: %s", got)
	}
}

// must gives what a command printed, or fails.
func must(out string, err error) func(t *testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		if err != nil {
			t.Fatal(err, out)
		}
		return out
	}
}
