package tap_test

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
	"github.com/gvswitch/gvswitch/netdev/tap"
)

// A tap that others move to another namespace, and rename there, goes on; when that
// namespace ends, it is made anew at home.
func TestMovedTap(t *testing.T) {
	home, away := netdevtest.Netns(t), netdevtest.Netns(t)
	d := netdevtest.Open(t, tap.Open, "t0", options(home), &netdevtest.Host{})
	fds := netdevtest.FDs(t)
	netdevtest.IP(t, "-n "+home+" link set t0 netns "+away)
	netdevtest.IP(t, "-n "+away+" link set t0 name eth0")
	netdevtest.IP(t, "-n "+away+" link set eth0 up mtu 1400")
	netdevtest.Eventually(t, patience, "the moved tap's state", func() bool {
		i := d.Info()
		return i.Link && i.MTU == 1400
	})
	frames(t, d, away, "eth0")
	// The switch's own settings reach it, too.
	o := options(home)
	o.MTU = 1300
	if err := d.(netdev.Adjuster).Adjust(o); err != nil {
		t.Error(err)
	}
	netdevtest.Eventually(t, patience, "the new MTU", func() bool { return d.Info().MTU == 1300 })

	netdevtest.IP(t, "netns del "+away)
	netdevtest.IP(t, "netns add "+away) // for the cleanup
	netdevtest.Eventually(t, patience, "a tap at home", func() bool {
		return exec.Command("ip", "-n", home, "link", "show", "t0", "up").Run() == nil && d.Info().Link
	})
	frames(t, d, home, "t0")
	netdevtest.Eventually(t, patience, "descriptors as before", func() bool { return netdevtest.FDs(t) <= fds })
}

// frames sends a frame through the tap.
func frames(t *testing.T, d netdev.Device, ns, name string) {
	t.Helper()
	p, c := netdevtest.NewPort(d), kernelSide(t, ns, name)
	want := netdevtest.Frame(80, 1)
	write(t, c, want)
	if got := p.Receive(1, patience); len(got) != 1 || !bytes.Equal(got[0].Frame, want) {
		t.Fatalf("received %x", got)
	}
	_ = c.Close()
}
