package afpacket_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/netdev/afpacket"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
	"github.com/gvswitch/gvswitch/packet"
)

// comesBack is how long a port may take to use a device that is back (B64).
const comesBack = 2 * time.Second

// The device is deleted and made anew, again and again: the port is missing and
// comes back by itself, with the same descriptors and few announcements.
func TestDeviceVanishes(t *testing.T) {
	ns, peer := netdevtest.Netns(t), netdevtest.Netns(t)
	netdevtest.Pair(t, ns, "v0", peer, "v1")
	h := &netdevtest.Host{}
	d := netdevtest.Open(t, afpacket.Open, "v0", options(ns), h)
	a := netdevtest.NewPort(d)
	fds := netdevtest.FDs(t)
	for round := range 20 {
		netdevtest.IP(t, "-n "+ns+" link del v0")
		netdevtest.Eventually(t, comesBack, "a fault", func() bool { return d.Info().Fault != "" })
		if i := d.Info(); i.Link || !strings.Contains(i.Fault, "v0: no such device") {
			t.Fatalf("%+v", i)
		}
		a.Send(netdevtest.Offload{}, netdevtest.Frame(60, 2))
		if n := a.TxSt.Drops[packet.TxNotReady].Load(); n != uint64(round+1) {
			t.Fatalf("%d counted as not ready", n)
		}
		if n := a.Rx.Recv(a.Burst, a.RxSt); n != 0 {
			t.Fatal("received from nowhere")
		}
		a.Rx.Disarm()
		netdevtest.Pair(t, ns, "v0", peer, "v1")
		netdevtest.Eventually(t, comesBack, "the port back", func() bool { return d.Info().Link })
		exchange(t, a, peer)
	}
	// Not at once: the device's goroutine opens some for a moment.
	netdevtest.Eventually(t, patience, "descriptors as before", func() bool { return netdevtest.FDs(t) <= fds })
	// For each round: missing, there, link up; its MTU and MAC may be seen in between.
	before := h.Changes()
	if before > 20*6 {
		t.Errorf("%d announcements in 20 rounds", before)
	}
	time.Sleep(300 * time.Millisecond)
	if h.Changes() != before {
		t.Error("announcements go on though nothing happens")
	}
}

// exchange sends a frame each way.
func exchange(t *testing.T, a *netdevtest.Port, peer string) {
	t.Helper()
	d, err := afpacket.Open("v1", options(peer), &netdevtest.Host{})
	if err != nil {
		t.Fatal(err)
	}
	b := netdevtest.NewPort(d)
	for _, x := range [2][2]*netdevtest.Port{{a, b}, {b, a}} {
		want := netdevtest.Frame(100, 9)
		x[0].Send(netdevtest.Offload{}, want)
		if got := x[1].Receive(1, patience); len(got) != 1 || !bytes.Equal(got[0].Frame, want) {
			t.Fatalf("received %x", got)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// A device that was renamed or moved away is not ours any more; nothing of it
// is received.
func TestDeviceRenamedAndMoved(t *testing.T) {
	ns, peer := netdevtest.Netns(t), netdevtest.Netns(t)
	netdevtest.Pair(t, ns, "v0", peer, "v1")
	d, a := open(t, ns, "v0")
	_, b := open(t, peer, "v1")
	missing := func() bool { return d.Info().Fault != "" }
	there := func() bool { return d.Info().Link }

	netdevtest.IP(t, "-n "+ns+" link set v0 down")
	netdevtest.IP(t, "-n "+ns+" link set v0 name other")
	netdevtest.Eventually(t, comesBack, "a fault", missing)
	netdevtest.IP(t, "-n "+ns+" link set other up")
	b.Send(netdevtest.Offload{}, netdevtest.Frame(60, 1))
	if got := a.Receive(1, 50*time.Millisecond); len(got) != 0 {
		t.Error("received from a device of another name")
	}
	if s := netdevtest.IP(t, "-n "+ns+" -d link show other"); !strings.Contains(s, "promiscuity 0") {
		t.Error("still promiscuous: " + s)
	}
	if s := arpIgnore(t, ns, "other"); s != "0" {
		t.Errorf("still arp_ignore=%s", s)
	}
	netdevtest.IP(t, "-n "+ns+" link set other down")
	netdevtest.IP(t, "-n "+ns+" link set other name v0")
	netdevtest.IP(t, "-n "+ns+" link set v0 up")
	netdevtest.Eventually(t, comesBack, "the port back", there)
	exchangeWith(t, a, b)

	third := netdevtest.Netns(t)
	netdevtest.IP(t, "-n "+ns+" link set v0 netns "+third)
	netdevtest.Eventually(t, comesBack, "a fault", missing)
	netdevtest.IP(t, "-n "+third+" link set v0 netns "+ns)
	netdevtest.IP(t, "-n "+ns+" link set v0 up")
	netdevtest.Eventually(t, comesBack, "the port back", there)
	exchangeWith(t, a, b)
}

// arpIgnore reads the device's setting.
func arpIgnore(t *testing.T, ns, name string) (s string) {
	t.Helper()
	netdevtest.In(t, ns, func() error {
		b, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + name + "/arp_ignore")
		s = strings.TrimSpace(string(b))
		return err
	})
	return s
}

// The host does not answer ARP on a port's device for its other addresses, as long as it
// is one and nobody wants it otherwise.
func TestQuietARP(t *testing.T) {
	ns, _ := pair(t)
	for _, c := range []struct{ before, during, changed, after string }{
		{"0", "1", "", "0"},
		{"2", "2", "", "2"},
		{"0", "1", "8", "8"},
	} {
		set := func(v string) {
			netdevtest.In(t, ns, func() error { return os.WriteFile("/proc/sys/net/ipv4/conf/v0/arp_ignore", []byte(v), 0) })
		}
		set(c.before)
		d, err := afpacket.Open("v0", options(ns), &netdevtest.Host{})
		if err != nil {
			t.Fatal(err)
		}
		if s := arpIgnore(t, ns, "v0"); s != c.during {
			t.Errorf("%+v: %s while it is a port", c, s)
		}
		if c.changed != "" {
			set(c.changed)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if s := arpIgnore(t, ns, "v0"); s != c.after {
			t.Errorf("%+v: %s afterwards", c, s)
		}
	}
}

func exchangeWith(t *testing.T, a, b *netdevtest.Port) {
	t.Helper()
	for _, x := range [2][2]*netdevtest.Port{{a, b}, {b, a}} {
		want := netdevtest.Frame(100, 9)
		x[0].Send(netdevtest.Offload{}, want)
		if got := x[1].Receive(1, patience); len(got) != 1 || !bytes.Equal(got[0].Frame, want) {
			t.Fatalf("received %x", got)
		}
	}
}

// A link that goes down and up again needs no help, and the descriptor does not
// stay readable because of it.
func TestLinkDownUp(t *testing.T) {
	ns, peer := netdevtest.Netns(t), netdevtest.Netns(t)
	netdevtest.Pair(t, ns, "v0", peer, "v1")
	d, a := open(t, ns, "v0")
	_, b := open(t, peer, "v1")
	for range 3 {
		netdevtest.IP(t, "-n "+ns+" link set v0 down")
		netdevtest.Eventually(t, comesBack, "link down", func() bool { return !d.Info().Link })
		if f := d.Info().Fault; f != "" {
			t.Errorf("fault %q", f)
		}
		a.Rx.Disarm()
		if netdevtest.Readable(t, a.Rx.FD(), 0) {
			t.Error("readable while down")
		}
		netdevtest.IP(t, "-n "+ns+" link set v0 up")
		netdevtest.Eventually(t, comesBack, "link up", func() bool { return d.Info().Link })
		exchangeWith(t, a, b)
	}
}

// A sleeping thread is woken, and an armed queue that is not empty says so.
func TestSleep(t *testing.T) {
	a, b := ports(t)
	for range 100 {
		if !a.Rx.Arm() {
			t.Fatal("an empty queue is not empty")
		}
		if netdevtest.Readable(t, a.Rx.FD(), 0) {
			t.Fatal("readable while empty")
		}
		b.Send(netdevtest.Offload{}, netdevtest.Frame(60, 1))
		if !netdevtest.Readable(t, a.Rx.FD(), patience) {
			t.Fatal("not woken")
		}
		if a.Rx.Arm() {
			t.Fatal("empty though a frame is there")
		}
		a.Rx.Disarm()
		if got := a.Receive(1, patience); len(got) != 1 {
			t.Fatal("nothing received")
		}
	}
}
