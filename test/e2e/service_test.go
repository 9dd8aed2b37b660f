package e2e

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/peers"
)

// A service manager is told when the switch is ready and when it ends.
func TestNotify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := NewSwitch(t, Options{Env: []string{"NOTIFY_SOCKET=" + path}})
	told := func(want string) {
		t.Helper()
		_ = l.SetReadDeadline(time.Now().Add(startTime))
		b := make([]byte, 1000)
		if n, err := l.Read(b); err != nil || !strings.Contains(string(b[:n]), want) {
			t.Errorf("told %q, %v; want %s", b[:n], err, want)
		}
	}
	told("READY=1")
	s.Stop()
	told("STOPPING=1")
	s.Start()
}

// SIGHUP makes it open its log anew after logrotate has moved it; each record is
// one line of JSON if so asked.
func TestLogFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "log")
	s := NewSwitch(t, Options{Args: []string{"--log-file", file, "--log-format", "json"}})
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	s.Signal(syscall.SIGHUP)
	eventually(t, startTime, "a new log", func() error { _, err := os.Stat(file); return err })
	s.Ctl("add-br", "br0")
	eventually(t, startTime, "a record in the new log", func() error { return want(readFile(t, file), `"br0"`) })
	for line := range strings.Lines(readFile(t, file)) {
		if !strings.HasPrefix(line, "{") || !strings.HasSuffix(line, "}\n") {
			t.Errorf("not a line of JSON: %s", line)
		}
	}
	if strings.Contains(readFile(t, file+".1"), `"br0"`) {
		t.Error("the old log got the record, too")
	}
}

// Without capabilities it runs; what needs them says so, the rest works.
func TestUnprivileged(t *testing.T) {
	s := NewSwitch(t, Options{User: 65534})
	if out, err := s.TryCtl("add-br", "br0"); err == nil || want(err.Error(), "br0", "CAP_NET_ADMIN") != nil {
		t.Errorf("an internal port without CAP_NET_ADMIN: %q, %v", out, err)
	}
	a, b := s.AddVhost("vu0"), s.AddVhost("vu1")
	pmd, err := peers.StartTestpmd(context.Background(), peers.TestpmdConfig{Sockets: []string{a, b}})
	if err != nil {
		t.Fatal(err)
	}
	defer pmd.Stop()
	ctx := context.Background()
	command(ctx, t, pmd, "set fwd flowgen")
	command(ctx, t, pmd, "start")
	eventually(t, 45*time.Second, "packets through a switch without root", func() error {
		stats, err := pmd.Stats(ctx)
		if err == nil && (stats[0].Rx < 1000 || stats[1].Rx < 1000) {
			err = context.DeadlineExceeded
		}
		return err
	})
}

// Two capabilities are enough for the devices of its own namespace.
func TestCapabilities(t *testing.T) {
	ctx := context.Background()
	s := NewSwitch(t, Options{User: 65534, Caps: []string{"net_admin", "net_raw"}})
	s.Ctl("add-br", "br0")
	ns := newNetns(t, "far")
	if _, err := s.Netns.Run(ctx, "ip link add eth1 type veth peer name eth0 netns "+ns.Name+" && ip link set eth1 up"); err != nil {
		t.Fatal(err)
	}
	s.AddPort("eth1", "type=system")
	s.AddPort("tap0", "type=tap")
	ip, ip6 := addrs(1)
	if err := ns.AddAddrs(ctx, "eth0", ip, ip6); err != nil {
		t.Fatal(err)
	}
	pingAll(t, newStation("eth1", 1, ns), addInternal(t, s, 2))
	if out, err := s.TryCtl("add-port", "br0", "v", "--", "set", "Interface", "v", "type=veth", "options:peer=eth9", "options:netns="+ns.Name); err == nil ||
		want(err.Error(), ns.Name, "not permitted") != nil {
		t.Errorf("a port in another namespace without CAP_SYS_ADMIN: %q, %v", out, err)
	}
}

// The database of an Open vSwitch is taken over.
func TestImport(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	db, err := peers.StartOVSDB(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Vsctl(ctx, "--no-wait", "add-br", "ovsbr", "--", "set", "Bridge", "ovsbr", "datapath_type=netdev",
		"--", "add-port", "ovsbr", "p0", "tag=7", "--", "set", "Interface", "p0", "type=tap", "external_ids:iface-id=x",
		"--", "add-port", "ovsbr", "vm0", "--", "set", "Interface", "vm0", "type=dpdkvhostuserclient", "options:vhost-server-path=/run/nobody.sock",
		"--", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true")
	db.Stop()
	if err != nil {
		t.Fatal(err)
	}
	s := NewSwitch(t, Options{})
	s.Ctl("import", filepath.Join(dir, "conf.db"))
	for command, want := range map[string]string{
		"list-br":                                "ovsbr\n",
		"list-ports ovsbr":                       "p0\nvm0\n",
		"get Port p0 tag":                        "7\n",
		"get Interface p0 ofport":                "1\n",
		"get Interface vm0 type":                 "dpdkvhostuserclient\n",
		"get Interface p0 external_ids:iface-id": "x\n",
	} {
		if got := s.Ctl(strings.Fields(command)...); got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
	s.Stop()
	s.Start()
	if got := s.Ctl("list-br"); got != "ovsbr\n" {
		t.Errorf("after a restart list-br says %q", got)
	}
}
