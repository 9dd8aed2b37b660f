package tap_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	mdpacket "github.com/mdlayher/packet"
	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
	"github.com/gvswitch/gvswitch/netdev/tap"
	"github.com/gvswitch/gvswitch/packet"
)

const patience = 10 * time.Second

func options(ns string) netdev.Options {
	return netdev.Options{Map: map[string]string{"netns": ns}}
}

func open(t testing.TB, ns, name string) (netdev.Device, *netdevtest.Port) {
	t.Helper()
	d := netdevtest.Open(t, tap.Open, name, options(ns), &netdevtest.Host{})
	return d, netdevtest.NewPort(d)
}

// kernelSide is a packet socket on the tap, on the host's side.
func kernelSide(t testing.TB, ns, name string) *mdpacket.Conn {
	t.Helper()
	var c *mdpacket.Conn
	netdevtest.In(t, ns, func() error {
		ifi, err := net.InterfaceByName(name)
		if err != nil {
			return err
		}
		c, err = mdpacket.Listen(ifi, mdpacket.Raw, netdevtest.EtherTest, nil)
		return err
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func write(t testing.TB, c *mdpacket.Conn, frame []byte) {
	t.Helper()
	if _, err := c.WriteTo(frame, &mdpacket.Addr{HardwareAddr: frame[:6]}); err != nil {
		t.Fatal(err)
	}
}

func TestFrames(t *testing.T) {
	ns := netdevtest.Netns(t)
	_, a := open(t, ns, "t0")
	c := kernelSide(t, ns, "t0")
	for _, n := range []int{60, 127, 128, 129, 192, 1000, 1514} {
		want := netdevtest.Frame(n, 1)
		for range 3 {
			write(t, c, want)
		}
		for _, g := range a.Receive(3, patience) {
			if !bytes.Equal(g.Frame, want) || g.Offload != (netdevtest.Offload{}) {
				t.Fatalf("%d bytes: received %x", n, g)
			}
		}
		a.Send(netdevtest.Offload{}, want)
		buf := make([]byte, 2000)
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if k, _, err := c.ReadFrom(buf); err != nil || !bytes.Equal(buf[:k], want) {
			t.Fatalf("%d bytes: the host received %x, %v", n, buf[:k], err)
		}
	}
	if n := a.RxSt.Packets.Load(); n != 21 {
		t.Errorf("%d received", n)
	}
	for _, tags := range [][]uint32{{0x8100_6005}, {0x8100_e000}, {0x88a8_6064, 0x8100_2005}} {
		want := netdevtest.Frame(100, 1, tags...)
		write(t, c, want)
		if got := a.Receive(1, patience); len(got) != 1 || !bytes.Equal(got[0].Frame, want) {
			t.Errorf("tags %x: received %x", tags, got)
		}
	}
}

// A burst of more than one call takes comes out whole and in order.
func TestBursts(t *testing.T) {
	ns := netdevtest.Netns(t)
	_, a := open(t, ns, "t0")
	c := kernelSide(t, ns, "t0")
	for range 20 {
		for i := range 100 {
			f := netdevtest.Frame(60+10*i, 1)
			f[20] = byte(i)
			write(t, c, f)
		}
		got := a.Receive(100, patience)
		if len(got) != 100 {
			t.Fatalf("%d of 100", len(got))
		}
		for i, g := range got {
			if len(g.Frame) != 60+10*i || g.Frame[20] != byte(i) {
				t.Fatalf("frame %d has %d bytes and number %d", i, len(g.Frame), g.Frame[20])
			}
		}
	}
}

// The kernel's TCP and UDP with default offloads between two taps (B47, B48).
func TestKernelTCPThrough(t *testing.T) {
	left, right := netdevtest.Netns(t), netdevtest.Netns(t)
	_, a := open(t, left, "t0")
	_, b := open(t, right, "t0")
	netdevtest.Hosts(t, map[string]string{left: "t0", right: "t0"}, left, right)
	netdevtest.Forward(t, a, b)
	for _, host := range []string{"10.9.0.2", "fd09::2"} {
		netdevtest.Transfer(t, left, right, host, 64<<20)
		netdevtest.Datagrams(t, left, right, host)
	}
	netdevtest.NoChecksumErrors(t, left, right)
	if n := netdevtest.Drops(&a.RxSt.Drops) + netdevtest.Drops(&b.RxSt.Drops); n != 0 {
		t.Errorf("%d lost at receive", n)
	}
}

func TestSettings(t *testing.T) {
	ns := netdevtest.Netns(t)
	o := options(ns)
	o.MTU, o.MAC = 1400, "02:00:00:00:00:55"
	h := &netdevtest.Host{}
	d := netdevtest.Open(t, tap.Open, "br0", o, h)
	netdevtest.Eventually(t, patience, "the link up", func() bool { return d.Info().Link })
	i := d.Info()
	if i.MTU != 1400 || i.MAC.String() != o.MAC || i.Driver != "tun" || i.IfIndex == 0 || i.Fault != "" {
		t.Errorf("%+v", i)
	}
	if s := netdevtest.IP(t, "-n "+ns+" link show br0"); !strings.Contains(s, "02:00:00:00:00:55") || !strings.Contains(s, "mtu 1400") || !strings.Contains(s, ",UP") {
		t.Error(s)
	}
	o.MTU, o.MAC = 2000, "02:00:00:00:00:56"
	if err := d.(netdev.Adjuster).Adjust(o); err != nil {
		t.Fatal(err)
	}
	netdevtest.Eventually(t, patience, "the new settings", func() bool {
		return d.Info().MTU == 2000 && d.Info().MAC.String() == o.MAC && h.Changes() > 0
	})
	p := netdevtest.NewPort(d)
	p.Send(netdevtest.Offload{}, netdevtest.Frame(2014, 1), netdevtest.Frame(2015, 1))
	if p.TxSt.Packets.Load() != 1 || p.TxSt.Drops[packet.TxOversize].Load() != 1 {
		t.Error("oversize")
	}
	netdevtest.IP(t, "-n "+ns+" link set br0 mtu 9000")
	netdevtest.Eventually(t, patience, "the MTU set by others", func() bool { return d.Info().MTU == 9000 })
	netdevtest.IP(t, "-n "+ns+" link set br0 down")
	netdevtest.Eventually(t, patience, "the link down", func() bool { return !d.Info().Link })
	p.Send(netdevtest.Offload{}, netdevtest.Frame(60, 1))
	if p.TxSt.Drops[packet.PortDown].Load() != 1 {
		t.Error("sent to a device that is down")
	}
	o.Map = map[string]string{"netns": ns, "x": "y"}
	if err := d.(netdev.Adjuster).Adjust(o); err == nil || errors.Is(err, netdev.ErrReopen) {
		t.Error(err)
	}
	o.Map = map[string]string{}
	if err := d.(netdev.Adjuster).Adjust(o); !errors.Is(err, netdev.ErrReopen) {
		t.Error(err)
	}
}

// An internal port is down until the operator sets it up, and neither settings nor
// its being made anew change that.
func TestInternal(t *testing.T) {
	ns := netdevtest.Netns(t)
	d := netdevtest.Open(t, tap.OpenInternal, "br0", options(ns), &netdevtest.Host{})
	p := netdevtest.NewPort(d)
	is := func(want bool) {
		t.Helper()
		netdevtest.Eventually(t, patience, fmt.Sprintf("link %v", want), func() bool { return d.Info().Link == want })
		state := map[bool]string{false: "down", true: "up"}[want]
		if got := d.Info().Status["admin_state"]; got != state {
			t.Errorf("admin_state %s, want %s", got, state)
		}
		if s := netdevtest.IP(t, "-n "+ns+" link show br0"); strings.Contains(s, ",UP") != want {
			t.Errorf("want %s: %s", state, s)
		}
	}
	is(false)
	p.Send(netdevtest.Offload{}, netdevtest.Frame(60, 1), netdevtest.Frame(60, 1))
	if n := p.TxSt.Drops[packet.PortDown].Load(); n != 2 || p.TxSt.Packets.Load() != 0 {
		t.Errorf("%d lost as port_down, %d sent", n, p.TxSt.Packets.Load())
	}
	o := options(ns)
	o.MTU, o.MAC = 1400, "02:00:00:00:00:57"
	if err := d.(netdev.Adjuster).Adjust(o); err != nil {
		t.Fatal(err)
	}
	is(false)
	netdevtest.IP(t, "-n "+ns+" link set br0 up")
	is(true)
	frames(t, d, ns, "br0")
	p.Send(netdevtest.Offload{}, netdevtest.Frame(60, 1))
	if p.TxSt.Packets.Load() != 1 {
		t.Error("nothing sent to a device that is up")
	}
	o.MTU = 1300
	if err := d.(netdev.Adjuster).Adjust(o); err != nil {
		t.Fatal(err)
	}
	is(true)
	index := d.Info().IfIndex
	netdevtest.IP(t, "-n "+ns+" link del br0")
	netdevtest.Eventually(t, patience, "another device", func() bool { i := d.Info().IfIndex; return i != 0 && i != index })
	is(false)
}

// What earlier or other users of a tap did to it (B72, B73).
func TestExistingDevices(t *testing.T) {
	ns := netdevtest.Netns(t)
	// hold opens the tap as another process would.
	hold := func(name string, flags uint16, offload int) int {
		fd := -1
		netdevtest.In(t, ns, func() (err error) {
			if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
				return err
			}
			ifr, err := unix.NewIfreq(name)
			if err != nil {
				return err
			}
			ifr.SetUint16(flags)
			if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
				return err
			}
			return unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, offload)
		})
		return fd
	}
	try := func(name string) error {
		d, err := tap.Open(name, options(ns), &netdevtest.Host{})
		if err == nil {
			err = d.Close()
		}
		return err
	}
	exists := func(name string) bool {
		return strings.Contains(netdevtest.IP(t, "-n "+ns+" -o link"), ": "+name)
	}
	const plain = unix.IFF_TAP | unix.IFF_NO_PI

	t.Run("persistent, left with offloads", func(t *testing.T) {
		fd := hold("p0", plain|unix.IFF_VNET_HDR, unix.TUN_F_CSUM|unix.TUN_F_TSO4)
		if err := unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1); err != nil {
			t.Fatal(err)
		}
		_ = unix.Close(fd)
		if err := try("p0"); err != nil {
			t.Fatal(err)
		}
		if !exists("p0") {
			t.Error("a tap that was not ours is gone")
		}
	})
	t.Run("persistent, plain", func(t *testing.T) {
		netdevtest.IP(t, "-n "+ns+" tuntap add p1 mode tap")
		d, err := tap.Open("p1", options(ns), &netdevtest.Host{})
		if err != nil {
			t.Fatal(err)
		}
		a, c := netdevtest.NewPort(d), kernelSide(t, ns, "p1")
		want := netdevtest.Frame(99, 1)
		write(t, c, want)
		if got := a.Receive(1, patience); len(got) != 1 || !bytes.Equal(got[0].Frame, want) {
			t.Errorf("received %x", got)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if !exists("p1") {
			t.Error("a tap that was not ours is gone")
		}
	})
	t.Run("persistent, multiqueue", func(t *testing.T) {
		netdevtest.IP(t, "-n "+ns+" tuntap add p2 mode tap multi_queue")
		if err := try("p2"); err != nil {
			t.Error(err)
		}
	})
	t.Run("multiqueue, open elsewhere without net header", func(t *testing.T) {
		fd := hold("p3", plain|unix.IFF_MULTI_QUEUE, 0)
		defer func() { _ = unix.Close(fd) }()
		if err := try("p3"); !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), "other flags") {
			t.Error(err)
		}
	})
	t.Run("open elsewhere", func(t *testing.T) {
		fd := hold("p4", plain, 0)
		defer func() { _ = unix.Close(fd) }()
		if err := try("p4"); !errors.Is(err, unix.EBUSY) || !strings.HasPrefix(err.Error(), "p4: ") {
			t.Error(err)
		}
	})
	t.Run("tun", func(t *testing.T) {
		netdevtest.IP(t, "-n "+ns+" tuntap add p5 mode tun")
		if err := try("p5"); !errors.Is(err, unix.EINVAL) || !strings.Contains(err.Error(), "not a tap") {
			t.Error(err)
		}
	})
	t.Run("no tap", func(t *testing.T) {
		netdevtest.IP(t, "-n "+ns+" link add p6 type veth peer name p7")
		if err := try("p6"); !errors.Is(err, unix.EEXIST) || !strings.Contains(err.Error(), "veth") {
			t.Error(err)
		}
		if !exists("p6") {
			t.Error("it is gone")
		}
	})
	t.Run("another port", func(t *testing.T) {
		open(t, ns, "p8")
		if err := try("p8"); !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), "another port") {
			t.Error(err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	ns := netdevtest.Netns(t)
	before := netdevtest.FDs(t)
	for _, c := range []struct {
		name, want string
		o          netdev.Options
	}{
		{"abcdefghijklmnop", "16 bytes", options(ns)},
		{"t%d", "the kernel made", options(ns)},
		{"t0", "options:perr=: not an option", netdev.Options{Map: map[string]string{"perr": ""}}},
		{"t0", `mac "x"`, netdev.Options{MAC: "x"}},
		{"t0", "setting MTU 1000000", netdev.Options{Map: options(ns).Map, MTU: 1000000}},
		{"t0", "is not a network namespace", options("/etc/passwd")},
	} {
		d, err := tap.Open(c.name, c.o, &netdevtest.Host{})
		if err == nil {
			_ = d.Close()
			t.Errorf("%s %+v accepted", c.name, c.o)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: %v, want %q", c.name, c.o, err, c.want)
		}
	}
	if s := netdevtest.IP(t, "-n "+ns+" -o link"); strings.Count(s, "\n") != 1 {
		t.Errorf("left behind: %s", s)
	}
	if after := netdevtest.FDs(t); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// A tap that somebody deletes or renames is made anew (B64).
func TestDeviceVanishes(t *testing.T) {
	ns := netdevtest.Netns(t)
	h := &netdevtest.Host{}
	d := netdevtest.Open(t, tap.Open, "t0", options(ns), h)
	fds := netdevtest.FDs(t)
	for round := range 20 {
		index := d.Info().IfIndex
		if round%4 == 3 {
			netdevtest.IP(t, "-n "+ns+" link set t0 down")
			netdevtest.IP(t, "-n "+ns+" link set t0 name t1")
		} else {
			netdevtest.IP(t, "-n "+ns+" link del t0")
		}
		netdevtest.Eventually(t, 2*time.Second, "another tap", func() bool {
			i := d.Info()
			return i.Link && i.IfIndex != index
		})
		a, c := netdevtest.NewPort(d), kernelSide(t, ns, "t0")
		want := netdevtest.Frame(80, 1)
		write(t, c, want)
		if got := a.Receive(1, patience); len(got) != 1 || !bytes.Equal(got[0].Frame, want) {
			t.Fatalf("received %x", got)
		}
		_ = c.Close()
	}
	// Not at once: the device's goroutine opens some for a moment.
	netdevtest.Eventually(t, patience, "descriptors as before", func() bool { return netdevtest.FDs(t) <= fds })
	if n := h.Changes(); n > 20*6 {
		t.Errorf("%d announcements in 20 rounds", n)
	}
}

// A poll thread that still uses a deleted tap neither fails nor spins.
func TestUseOfDeleted(t *testing.T) {
	ns := netdevtest.Netns(t)
	_, a := open(t, ns, "t0")
	a.Receive(1, time.Millisecond) // arms it
	netdevtest.IP(t, "-n "+ns+" link del t0")
	if got := a.Receive(1, 20*time.Millisecond); len(got) != 0 {
		t.Error("received from nowhere")
	}
}

// A sleeping thread is woken, and an armed queue that is not empty says so.
func TestSleep(t *testing.T) {
	ns := netdevtest.Netns(t)
	_, a := open(t, ns, "t0")
	c := kernelSide(t, ns, "t0")
	a.Receive(1, time.Millisecond)
	for range 200 {
		if !a.Rx.Arm() {
			t.Fatal("an empty queue is not empty")
		}
		if netdevtest.Readable(t, a.Rx.FD(), 0) {
			t.Fatal("readable while empty")
		}
		write(t, c, netdevtest.Frame(60, 1))
		if !netdevtest.Readable(t, a.Rx.FD(), patience) {
			t.Fatal("not woken")
		}
		a.Rx.Disarm()
		if a.Rx.Arm() {
			t.Fatal("empty though a frame is there")
		}
		a.Rx.Disarm()
		if n := a.Rx.Recv(a.Burst, a.RxSt); n != 1 {
			t.Fatalf("%d received", n)
		}
		a.Rx.Release()
		if n := a.Rx.Recv(a.Burst, a.RxSt); n != 0 {
			t.Fatalf("%d received", n)
		}
	}
}

func TestNoLeaks(t *testing.T) {
	ns := netdevtest.Netns(t)
	netdevtest.NoLeaks(t, func() {
		d, err := tap.Open("t0", options(ns), &netdevtest.Host{})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if s := netdevtest.IP(t, "-n "+ns+" -o link"); strings.Contains(s, "t0") {
			t.Error("the tap is still there")
		}
	})
}

func TestNoAllocs(t *testing.T) {
	left, right := netdevtest.Netns(t), netdevtest.Netns(t)
	_, a := open(t, left, "t0")
	_, _ = open(t, right, "t0")
	c := kernelSide(t, left, "t0")
	frame := netdevtest.Frame(1000, 1)
	for range 201 {
		write(t, c, frame)
	}
	n, list := 0, []uint16{0}
	if allocs := testing.AllocsPerRun(200, func() {
		a.Burst.Pkts[0].SetBytes(frame)
		a.Tx.Send(a.Burst, list, a.TxSt)
		n += a.Rx.Recv(a.Burst, a.RxSt)
		a.Rx.Release()
		if a.Rx.Arm() {
			a.Rx.Disarm()
		}
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	if n != 201 {
		t.Errorf("%d received", n)
	}
}
