package vhostuser

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/internal/unixsock"
	"github.com/gvswitch/gvswitch/netdev"
)

type noHost struct{}

func (noHost) Changed(netdev.Device)        {}
func (noHost) Inject(netdev.Device, []byte) {}

// B25: what cannot be opened is refused with the option, the value and the
// reason, and leaves nothing.
func TestBadOptions(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	long := func(n int) string {
		return dir + "/" + strings.Repeat("x", n-len(dir)-1)
	}
	for _, c := range []struct {
		server bool
		name   string
		key    string
		value  string
		mtu    int
		mac    string
		want   string
	}{
		{true, "vm", "vhost-server-path", long(108), 0, "", "at most 107"},
		{true, "vm", "vhost-server-path", long(200), 0, "", "at most 107"},
		{true, "vm", "vhost-server-path", "", 0, "", "vhost-server-path="},
		{true, "vm", "vhost-server-path", file, 0, "", "not a socket"},
		{true, "vm", "vhost-server-path", dir, 0, "", "not a socket"},
		{true, "vm", "vhost-server-path", "/nowhere/vm", 0, "", "no such file"},
		{true, "vm", "vhost-server-path", "/proc/vm", 0, "", "/proc/vm"},
		{true, "../../etc/x", "", "", 0, "", "name"},
		{true, "a/b", "", "", 0, "", "name"},
		{true, "..", "", "", 0, "", "name"},
		{true, "", "", "", 0, "", "name"},
		{false, "vm", "", "", 0, "", "vhost-server-path"},
		{false, "vm", "vhost-server-path", long(108), 0, "", "at most 107"},
		{false, "vm", "socket-mode", "660", 0, "", "socket-mode=660"},
		{true, "vm", "socket-mode", "888", 0, "", "socket-mode=888"},
		{true, "vm", "socket-mode", "0", 0, "", "socket-mode=0"},
		{true, "vm", "socket-group", "no-such-group", 0, "", "socket-group=no-such-group"},
		{true, "vm", "tx-retries-max", "-1", 0, "", "tx-retries-max=-1"},
		{true, "vm", "n_rxq", "129", 0, "", "n_rxq=129"},
		{true, "vm", "vhost-max-queue-pairs", "0", 0, "", "vhost-max-queue-pairs=0"},
		{true, "vm", "dq-zero-copy", "yes", 0, "", "dq-zero-copy=yes"},
		{true, "vm", "tx-steering", "hash", 0, "", "tx-steering=hash"},
		{true, "vm", "vhost-sever-path", "x", 0, "", "vhost-sever-path=x"},
		{true, "vm", "", "", 67, "", "mtu_request=67"},
		{true, "vm", "", "", 65536, "", "mtu_request=65536"},
		{true, "vm", "", "", 0, "01:00:00:00:00:01", "mac=01:"},
		{true, "vm", "", "", 0, "nonsense", "mac=nonsense"},
	} {
		open := OpenClient
		if c.server {
			open = OpenServer
		}
		o := netdev.Options{RunDir: dir, MTU: c.mtu, MAC: c.mac}
		if c.key != "" {
			o.Map = map[string]string{c.key: c.value}
		}
		d, err := open(c.name, o, noHost{})
		if err == nil {
			d.Close()
			t.Errorf("%+v: accepted", c)
		} else if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "port "+c.name) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "precious" {
		t.Errorf("the regular file: %q, %v", b, err)
	}
	if e, err := os.ReadDir(dir); err != nil || len(e) != 1 {
		t.Errorf("left in the directory: %v, %v", e, err)
	}
}

// B25: a socket that a killed switch left is replaced, one that somebody listens on is
// not; the file goes with the port, but not somebody else's file in its place.
func TestSocketFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, strings.Repeat("x", unixsock.MaxPath-len(dir)-1))
	o := netdev.Options{Map: map[string]string{"vhost-server-path": path, "socket-mode": "0620", "socket-group": "root"}}
	l := listenUnix(t, path)
	dyingWaits.Store(0)
	for _, want := range []bool{true, false, false} { // only the first waits
		start := time.Now()
		if d, err := OpenServer("vm", o, noHost{}); err == nil {
			d.Close()
			t.Error("took the socket of somebody who listens")
		}
		if waited := time.Since(start) >= maxDyingWaits*dyingWait; waited != want {
			t.Errorf("waited: %v, want %v", waited, want)
		}
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	d, err := OpenServer("vm", o, noHost{})
	if err != nil {
		t.Fatalf("stale socket: %v", err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o620 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("socket is still there: %v", err)
	}
	if d, err = OpenServer("vm", o, noHost{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("somebody else's socket was removed: %v", err)
	}
}

// The address for a guest is its own, lasting and locally administered.
func TestPortMAC(t *testing.T) {
	a, b := portMAC("/run/a"), portMAC("/run/b")
	if a.String() == b.String() || a.String() != portMAC("/run/a").String() {
		t.Errorf("%v and %v", a, b)
	}
	if a[0]&3 != 2 {
		t.Errorf("%v is not a local unicast address", a)
	}
}
