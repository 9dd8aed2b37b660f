package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/test/peers"
	"github.com/gvswitch/gvswitch/test/proc"
)

// Debian's own ovs-vsctl and ovs-appctl do everything on a gvswitchd.
func TestRealOvsVsctl(t *testing.T) {
	s := NewSwitch(t, Options{})
	vsctl := func(args ...string) string {
		t.Helper()
		return ovsTool(t, s, "ovs-vsctl", append([]string{"--db=unix:" + s.RunDir + "/db.sock", "-t", "20"}, args...)...)
	}
	appctl := func(args ...string) string {
		t.Helper()
		return ovsTool(t, s, "ovs-appctl", append([]string{"-t", s.RunDir + "/gvswitchd.ctl"}, args...)...)
	}
	testVsctl(t, s, vsctl)
	for _, c := range []struct {
		args  []string
		words []string
	}{
		{[]string{"version"}, []string{"gvswitch"}},
		{[]string{"list-commands"}, []string{"fdb/show", "coverage/show", "dpif-netdev/pmd-stats-show", "vlog/set"}},
		{[]string{"fdb/show", "br0"}, []string{"VLAN", "MAC", "Age"}},
		{[]string{"dpif-netdev/pmd-stats-show"}, []string{"avg processing cycles per packet"}},
		{[]string{"dpif-netdev/pmd-rxq-show"}, []string{"veth0"}},
		{[]string{"coverage/show"}, nil},
		{[]string{"dpctl/show"}, []string{"veth0"}},
		{[]string{"fdb/flush", "br0"}, nil},
	} {
		if err := want(appctl(c.args...), c.words...); err != nil {
			t.Errorf("ovs-appctl %s: %v", c.args, err)
		}
	}
	if out, err := ovsToolError(s, "ovs-appctl", "-t", s.RunDir+"/gvswitchd.ctl", "no/such"); err == nil || want(err.Error(), "is not a valid command") != nil {
		t.Errorf("ovs-appctl no/such: %s, %v", out, err)
	}
	// Where OVS_RUNDIR points, OVS's tools find the socket, the pid and the
	// database by themselves.
	if err := want(ovsTool(t, s, "ovs-vsctl", "-t", "20", "show"), "br0"); err != nil {
		t.Error(err)
	}
	if err := want(ovsTool(t, s, "ovs-appctl", "version"), "gvswitch"); err != nil {
		t.Error(err)
	}
}

// testVsctl goes through the work of ovs-vsctl, by whatever runs it.
func testVsctl(t *testing.T, s *Switch, vsctl func(args ...string) string) {
	t.Helper()
	vsctl("add-br", "br0")
	vsctl("--may-exist", "add-br", "br0")
	a, b := newNetns(t, "a"), newNetns(t, "b")
	for i, n := range []*peers.Netns{a, b} {
		port := fmt.Sprintf("veth%d", i)
		vsctl("add-port", "br0", port, "--", "set", "Interface", port, "type=veth", "options:peer=eth0", "options:netns="+n.Name)
		ip, ip6 := addrs(i + 1)
		if err := n.AddAddrs(context.Background(), "eth0", ip, ip6); err != nil {
			t.Fatal(err)
		}
	}
	pingAll(t, newStation("veth0", 1, a), newStation("veth1", 2, b))

	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"list-br"}, "br0\n"},
		{[]string{"list-ports", "br0"}, "veth0\nveth1\n"},
		{[]string{"port-to-br", "veth0"}, "br0\n"},
		{[]string{"iface-to-br", "veth1"}, "br0\n"},
		{[]string{"br-exists", "br0"}, ""},
		{[]string{"set", "Port", "veth0", "tag=10"}, ""},
		{[]string{"get", "Port", "veth0", "tag"}, "10\n"},
		{[]string{"clear", "Port", "veth0", "tag"}, ""},
		{[]string{"add", "Port", "veth0", "trunks", "1", "2"}, ""},
		{[]string{"remove", "Port", "veth0", "trunks", "1"}, ""},
		{[]string{"get", "Port", "veth0", "trunks"}, "[2]\n"},
		{[]string{"clear", "Port", "veth0", "trunks"}, ""},
		{[]string{"--columns=name", "--format=csv", "--no-headings", "find", "Interface", "type=veth", "name=veth0"}, "veth0\n"},
		{[]string{"--if-exists", "del-port", "br0", "none"}, ""},
		{[]string{"--timeout=5", "wait-until", "Interface", "veth0", "type=veth"}, ""},
		{[]string{"--no-wait", "init"}, ""},
		{[]string{"set", "Bridge", "br0", "external_ids:owner=test", "--", "get", "Bridge", "br0", "external_ids:owner"}, "test\n"},
		{[]string{"del-port", "veth1"}, ""},
		{[]string{"list-ports", "br0"}, "veth0\n"},
	} {
		if got := vsctl(c.args...); got != c.want {
			t.Errorf("%s: got %q, want %q", c.args, got, c.want)
		}
	}
	if err := want(vsctl("show"), "Bridge br0", "Port veth0", "type: veth"); err != nil {
		t.Errorf("show: %v", err)
	}
	if err := want(vsctl("list", "Interface", "veth0"), "ofport", "statistics", "admin_state", "mac_in_use"); err != nil {
		t.Errorf("list: %v", err)
	}
	id := strings.TrimSpace(vsctl("--id=@m", "create", "Mirror", "name=m0", "output_vlan=9", "--", "add", "Bridge", "br0", "mirrors", "@m"))
	vsctl("clear", "Bridge", "br0", "mirrors")
	if left := vsctl("--columns=_uuid", "list", "Mirror"); strings.Contains(left, id) {
		t.Errorf("the Mirror %s that nobody refers to any more is still there", id)
	}
}

// ovsTool runs one of Debian's OVS programs with the switch's run directory.
func ovsTool(t *testing.T, s *Switch, name string, args ...string) string {
	t.Helper()
	out, err := ovsToolError(s, name, args...)
	if err != nil {
		t.Error(err)
	}
	return out
}

func ovsToolError(s *Switch, name string, args ...string) (string, error) {
	if err := proc.Need(name, "openvswitch-switch"); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), ctlTime)
	defer cancel()
	return proc.Run(ctx, "env", append([]string{"OVS_RUNDIR=" + s.RunDir, name}, args...)...)
}

// gvsctl does the same, by its own name and as ovs-vsctl.
func TestGvsctlAsOvsVsctl(t *testing.T) {
	for _, name := range []string{"gvsctl", "ovs-vsctl"} {
		t.Run(name, func(t *testing.T) {
			s := NewSwitch(t, Options{})
			program := filepath.Join(t.TempDir(), name)
			if err := os.Symlink(filepath.Join(binDir, "gvsctl"), program); err != nil {
				t.Fatal(err)
			}
			testVsctl(t, s, func(args ...string) string {
				t.Helper()
				var first []string
				if name == "gvsctl" {
					first = []string{"--run-dir", s.RunDir}
				}
				return ovsTool(t, s, program, slices.Concat(first, args)...)
			})
		})
	}
}

// Debian's ovsdb-server holds the database. Its restart is survived.
func TestExternalOvsdbServer(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	db, err := peers.StartOVSDB(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { db.Stop() }()
	s := NewSwitch(t, Options{DB: db.Address})
	testVsctl(t, s, func(args ...string) string {
		t.Helper()
		out, err := db.Vsctl(ctx, args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	})
	db.Stop()
	if db, err = peers.StartOVSDB(ctx, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Vsctl(ctx, "add-port", "br0", "late", "--", "set", "Interface", "late", "type=dummy"); err != nil {
		t.Fatal(err)
	}
}
