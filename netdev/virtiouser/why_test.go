package virtiouser

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
	provider "github.com/gvswitch/gvswitch/netdev/vhostuser"
)

// A port without link says why, and stops saying so when it has one.
func TestWhyNoLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	d := netdevtest.Open(t, Open, "p", netdev.Options{Map: map[string]string{"path": path}}, &side{})
	says := func(want string) {
		t.Helper()
		netdevtest.Eventually(t, 10*time.Second, want, func() bool { return strings.Contains(d.Info().Fault, want) })
	}
	says("no back end at " + path + ": no such file or directory")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	says("does not answer; it may be in use")
	if err := l.Close(); err != nil { // it closes the connection that nobody accepted, too
		t.Fatal(err)
	}
	says("no back end at " + path + ": connection refused")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	b, err := provider.OpenServer("b", netdev.Options{Map: map[string]string{"vhost-server-path": path}}, &side{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	netdevtest.Eventually(t, 10*time.Second, "link and no fault", func() bool { i := d.Info(); return i.Link && i.Fault == "" })
}
