package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/test/peers"
)

// Each wrong setting is refused by the command, with a word of what is wrong, or
// ends up in the row's error column, and what ran before runs on.
func TestBadInput(t *testing.T) {
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	a, b := addNamespace(s, "veth0", 1), addNamespace(s, "veth1", 2)
	pingAll(t, a, b)
	long := "/tmp/" + strings.Repeat("x", 110)

	for _, c := range []struct {
		args  string   // of gvsctl
		words []string // that the message must have
	}{
		// the commands
		{"no-such-command", []string{"no-such-command"}},
		{"add-port", []string{"add-port"}},
		{"add-port nobr p0", []string{"nobr"}},
		{"add-br br0", []string{"br0", "exist"}},
		{"add-port br0 veth0", []string{"veth0"}},
		{"del-port br0 nosuch", []string{"nosuch"}},
		{"del-br nosuch", []string{"nosuch"}},
		{"set Interface nosuch type=tap", []string{"nosuch"}},
		{"set Nosuch . a=b", []string{"Nosuch"}},
		{"set Interface veth0 nosuch=1", []string{"nosuch"}},
		{"set Port veth0 tag=4096", []string{"4096"}},
		{"set Port veth0 tag=x", []string{"x"}},
		{"set Port veth0 vlan_mode=sideways", []string{"sideways"}},
		{"set Bridge br0 fail_mode=never", []string{"never"}},
		{"fdb/show nosuch", []string{"nosuch"}},
		{"fdb/add br0 veth0 0 not-a-mac", []string{"not-a-mac"}},
		{"fdb/add br0 veth0 5000 02:00:00:00:00:01", []string{"5000"}},
		{"no/such", []string{"no/such", "not a valid command"}},
		// the devices
		{"add-port br0 bad0 -- set Interface bad0 type=warp", []string{"warp"}},
		{"add-port br0 bad1 -- set Interface bad1 type=system", []string{"bad1"}},
		{"add-port br0 a-name-of-16-char -- set Interface a-name-of-16-char type=tap", []string{"a-name-of-16-char", "15"}},
		{"add-port br0 bad2 -- set Interface bad2 type=dpdkvhostuserclient", []string{"vhost-server-path"}},
		{"add-port br0 bad3 -- set Interface bad3 type=dpdkvhostuserclient options:vhost-server-path=" + long, []string{"107"}},
		{"add-port br0 bad4 -- set Interface bad4 type=veth options:peer=eth0 options:netns=nosuch-netns", []string{"nosuch-netns"}},
		{"add-port br0 bad5 -- set Interface bad5 type=veth options:netns=" + a.host.(*peers.Netns).Name + " options:peer=eth0", []string{"eth0"}},
		{"add-port br0 ../../x -- set Interface ../../x type=dpdkvhostuser", []string{"../../x"}},
		{"add-port br0 bad7 -- set Interface bad7 type=tap mtu_request=99999999", []string{"mtu"}},
		{"set Interface veth0 options:netns=nosuch-netns", []string{"nosuch-netns"}},
	} {
		out, err := s.TryCtl(strings.Fields(c.args)...)
		if err == nil {
			t.Errorf("gvsctl %s: no error, but %q", c.args, out)
			continue
		}
		if missing := want(err.Error(), c.words...); missing != nil {
			t.Errorf("gvsctl %s: %v", c.args, missing)
		}
	}
	// What gvsctl does not let through, other clients of the database do.
	for _, c := range []string{
		"add-port br0 bad3 -- set Interface bad3 type=dpdkvhostuserclient options:vhost-server-path=" + long,
		"add-port br0 a-name-of-16-char -- set Interface a-name-of-16-char type=tap",
	} {
		// It says so, too, but its exit status is 0.
		_, _ = ovsToolError(s, "ovs-vsctl", strings.Fields(c)...)
	}
	// A patch port may come before its peer: said, but no failure.
	s.Ctl("add-port", "br0", "bad6", "--", "set", "Interface", "bad6", "type=patch", "options:peer=nosuch-peer")
	if reason := s.Ctl("get", "Interface", "bad6", "error"); !strings.Contains(reason, "nosuch-peer") {
		t.Errorf("Interface bad6: error is %s", reason)
	}
	// The rows have their reason.
	for _, name := range []string{"bad0", "bad1", "bad2", "bad3", "bad4", "bad5", "a-name-of-16-char"} {
		if reason, err := s.TryCtl("get", "Interface", name, "error"); err != nil || strings.Trim(reason, "[]\"\n ") == "" {
			t.Errorf("Interface %s: error is %q, %v", name, reason, err)
			continue
		}
		if port := strings.TrimSpace(s.Ctl("get", "Interface", name, "ofport")); port != "-1" {
			t.Errorf("Interface %s: ofport is %s", name, port)
		}
	}
	// Mended, they work.
	s.Ctl("set", "Interface", "bad0", "type=tap")
	if reason := s.Ctl("get", "Interface", "bad0", "error"); strings.TrimSpace(reason) != "[]" {
		t.Errorf("Interface bad0, mended: error is %s", reason)
	}
	// Also what was changed for the worse while it ran.
	s.Ctl("set", "Interface", "veth0", "options:netns="+a.host.(*peers.Netns).Name)
	pingAll(t, a, b)
}

// Wrong arguments of the daemon.
func TestBadArguments(t *testing.T) {
	s := NewSwitch(t, Options{})
	long := t.TempDir() + strings.Repeat("/x", 60)
	for _, c := range []struct {
		args  []string
		words []string
	}{
		{[]string{"--no-such-flag"}, []string{"no-such-flag"}},
		{[]string{"--log-level", "loud"}, []string{"loud"}},
		{[]string{"--log-format", "xml"}, []string{"xml"}},
		{[]string{"--db", "carrier-pigeon:"}, []string{"carrier-pigeon"}},
		{[]string{"--run-dir", long, "--state-dir", t.TempDir()}, []string{long}},
		{[]string{"--run-dir", "/proc/nosuch", "--state-dir", t.TempDir()}, []string{"/proc/nosuch"}},
		// two daemons on one run directory
		{[]string{"--run-dir", s.RunDir, "--state-dir", t.TempDir()}, []string{s.RunDir}},
		{[]string{"--run-dir", t.TempDir(), "--state-dir", s.StateDir}, []string{s.StateDir}},
	} {
		p := runDaemon(t, c.args...)
		if p.ExitCode() == 0 {
			t.Errorf("gvswitchd %s: %s", c.args, p.State())
		}
		if err := want(p.Output(), c.words...); err != nil {
			t.Errorf("gvswitchd %s: %v", c.args, err)
		}
	}
	// The first one was not disturbed.
	s.Ctl("add-br", "br0")
	if _, err := s.Netns.Run(context.Background(), "ip link show br0"); err != nil {
		t.Error(err)
	}
}

// Files that are not ours stay.
func TestSocketFiles(t *testing.T) {
	s := NewSwitch(t, Options{})
	s.Ctl("add-br", "br0")
	path := filepath.Join(s.RunDir, "vu0")
	writeFile(t, path, "mine")
	if out, err := s.TryCtl("add-port", "br0", "vu0", "--", "set", "Interface", "vu0", "type=dpdkvhostuser"); err == nil || want(err.Error(), path) != nil {
		t.Errorf("a regular file in the socket's place: %q, %v", out, err)
	}
	if got := readFile(t, path); got != "mine" {
		t.Errorf("the file is %q", got)
	}
	s.Ctl("del-port", "br0", "vu0")
	// Sockets of a daemon that was killed are replaced; those of one that ended go.
	s.AddVhost("vu1", "options:socket-mode=0660")
	s.Kill()
	s.Start()
	// The database answers before the ports are there.
	eventually(t, startTime, "a listener on vu1", func() error { return connectable(s.RunDir + "/vu1") })
	s.Stop()
	left, err := filepath.Glob(s.RunDir + "/*")
	if err != nil || fmt.Sprint(left) != fmt.Sprint([]string{path}) {
		t.Errorf("left in the run directory: %v, %v", left, err)
	}
	s.Start()
}
