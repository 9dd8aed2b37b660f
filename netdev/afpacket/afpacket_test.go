package afpacket_test

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	mdpacket "github.com/mdlayher/packet"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/afpacket"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
	"github.com/gvswitch/gvswitch/packet"
)

const patience = 10 * time.Second

// pair makes a veth pair v0 in ns, v1 in peer.
func pair(t testing.TB) (ns, peer string) {
	t.Helper()
	ns, peer = netdevtest.Netns(t), netdevtest.Netns(t)
	netdevtest.Pair(t, ns, "v0", peer, "v1")
	return ns, peer
}

func options(ns string) netdev.Options {
	return netdev.Options{Map: map[string]string{"netns": ns}}
}

// open opens a port on the device in ns.
func open(t testing.TB, ns, name string) (netdev.Device, *netdevtest.Port) {
	t.Helper()
	d := netdevtest.Open(t, afpacket.Open, name, options(ns), &netdevtest.Host{})
	return d, netdevtest.NewPort(d)
}

// ports opens a port on each end of a new pair.
func ports(t testing.TB) (a, b *netdevtest.Port) {
	t.Helper()
	ns, peer := pair(t)
	_, a = open(t, ns, "v0")
	_, b = open(t, peer, "v1")
	return a, b
}

// independent is a packet socket of another make on the device in ns.
func independent(t *testing.T, ns, name string) *mdpacket.Conn {
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

func TestAgainstAnotherSocket(t *testing.T) {
	ns, peer := pair(t)
	_, a := open(t, ns, "v0")
	c := independent(t, peer, "v1")
	for _, n := range []int{60, 127, 128, 129, 1514} {
		want := netdevtest.Frame(n, 1)
		if _, err := c.WriteTo(want, &mdpacket.Addr{HardwareAddr: want[:6]}); err != nil {
			t.Fatal(err)
		}
		got := a.Receive(1, patience)
		if len(got) != 1 || !bytes.Equal(got[0].Frame, want) || got[0].Offload != (netdevtest.Offload{}) {
			t.Fatalf("%d bytes: received %x", n, got)
		}
		a.Send(netdevtest.Offload{}, want)
		buf := make([]byte, 2000)
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if k, _, err := c.ReadFrom(buf); err != nil || !bytes.Equal(buf[:k], want) {
			t.Fatalf("%d bytes: the peer received %x, %v", n, buf[:k], err)
		}
	}
	if n := a.TxSt.Packets.Load(); n != 5 {
		t.Errorf("%d sent", n)
	}
}

// The kernel takes the outer tag off what it shows to packet sockets (B59).
func TestVLANShapes(t *testing.T) {
	a, b := ports(t)
	for name, tags := range map[string][]uint32{
		"untagged":    nil,
		"VID 5":       {0x8100_6005},
		"priority":    {0x8100_e000},
		"802.1ad":     {0x88a8_0007},
		"QinQ":        {0x88a8_6064, 0x8100_2005},
		"double 8100": {0x8100_0064, 0x8100_e000},
	} {
		for _, n := range []int{60, 64, 200, 1500} {
			want := netdevtest.Frame(n, 1, tags...)
			b.Send(netdevtest.Offload{}, want)
			if got := a.Receive(1, patience); len(got) != 1 || !bytes.Equal(got[0].Frame, want) {
				t.Errorf("%s, %d bytes: received %x\nwant %x", name, n, got, want)
			}
		}
	}
}

// Neither what the port sends nor what the host sends on its device comes back
// (B63).
func TestOwnTransmissions(t *testing.T) {
	ns, peer := pair(t)
	_, a := open(t, ns, "v0")
	_, b := open(t, peer, "v1")
	other := independent(t, ns, "v0")
	frame := netdevtest.Frame(60, 0xff)
	copy(frame, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	got := 0
	for range 1000 / 10 {
		for range 9 {
			a.Send(netdevtest.Offload{}, frame)
		}
		if _, err := other.WriteTo(frame, &mdpacket.Addr{HardwareAddr: frame[:6]}); err != nil {
			t.Fatal(err)
		}
		got += len(b.Receive(10, patience))
	}
	if got != 1000 {
		t.Errorf("the peer received %d of 1000", got)
	}
	if back := a.Receive(1, 50*time.Millisecond); len(back) != 0 {
		t.Errorf("came back: %x", back)
	}
}

// Frames longer than a slot arrive whole, in order with the others (B47), and
// partial checksums stay marked (B48).
func TestGSO(t *testing.T) {
	a, b := ports(t)
	for _, n := range []int{1514, 3000, 20000, 65000, 65535} {
		want := netdevtest.TCP4(n)
		o := netdevtest.Offload{Flags: packet.CsumPartial, GSO: packet.GSOTCPv4, Size: 1448, Start: 34, Off: 16, Hdr: 54}
		if n <= 1514 {
			o.GSO, o.Size, o.Hdr = 0, 0, 0
		}
		small := netdevtest.Frame(60, 1)
		for range 20 {
			b.Send(netdevtest.Offload{}, small)
			b.Send(o, want)
			got := a.Receive(2, patience)
			if len(got) != 2 || !bytes.Equal(got[0].Frame, small) {
				t.Fatalf("%d bytes: received %d frames", n, len(got))
			}
			if !bytes.Equal(got[1].Frame, want) || got[1].Offload != o {
				t.Fatalf("%d bytes: received %d bytes as %+v", n, len(got[1].Frame), got[1].Offload)
			}
		}
	}
	// A burst of them: more than there is room for at once.
	want := netdevtest.TCP4(65000)
	o := netdevtest.Offload{Flags: packet.CsumPartial, GSO: packet.GSOTCPv4, Size: 1448, Start: 34, Off: 16, Hdr: 54}
	for range 30 {
		b.Send(o, want)
	}
	for i, g := range a.Receive(30, patience) {
		if !bytes.Equal(g.Frame, want) {
			t.Fatalf("frame %d of a burst differs", i)
		}
	}
	if n := netdevtest.Drops(&a.RxSt.Drops) + netdevtest.Drops(&b.TxSt.Drops); n != 0 {
		t.Errorf("%d lost", n)
	}
	// With a tag, which moves the offsets.
	tagged := append(append(append([]byte(nil), want[:12]...), 0x81, 0, 0x60, 5), want[12:]...)
	o.Start, o.Hdr = 38, 58
	b.Send(o, tagged)
	if got := a.Receive(1, patience); len(got) != 1 || !bytes.Equal(got[0].Frame, tagged) || got[0].Offload != o {
		t.Errorf("tagged: received %d", len(got))
	}
}

// More long frames than can wait are counted as truncated, and what is received is
// whole and in order.
func TestTruncated(t *testing.T) {
	a, b := ports(t)
	o := netdevtest.Offload{Flags: packet.CsumPartial, GSO: packet.GSOTCPv4, Size: 1448, Start: 34, Off: 16, Hdr: 54}
	send := func(i int) {
		f := netdevtest.TCP4(60000 + i)
		b.Send(o, f)
	}
	const sent = 600
	for i := range sent {
		send(i)
	}
	last := 0
	got := a.Receive(sent, 300*time.Millisecond)
	for _, g := range got {
		n := len(g.Frame)
		if n <= last || !bytes.Equal(g.Frame, netdevtest.TCP4(n)) {
			t.Fatalf("a frame of %d bytes after one of %d, or a damaged one", n, last)
		}
		last = n
	}
	cut := int(a.RxSt.Drops[packet.RxTruncated].Load())
	if len(got) == 0 || cut == 0 || len(got)+cut != sent {
		t.Errorf("%d received, %d truncated of %d", len(got), cut, sent)
	}
	send(1)
	if got := a.Receive(1, patience); len(got) != 1 || len(got[0].Frame) != 60001 {
		t.Error("nothing after the queue was full")
	}
}

// A device that cannot segment gets segments with finished checksums from
// the kernel.
func TestPlainDevice(t *testing.T) {
	ns, peer := pair(t)
	netdevtest.Run(t, "ip", "netns", "exec", peer, "ethtool", "-K", "v1", "tso", "off", "tx", "off", "gso", "off", "sg", "off")
	_, a := open(t, ns, "v0")
	_, b := open(t, peer, "v1")
	o := netdevtest.Offload{Flags: packet.CsumPartial, GSO: packet.GSOTCPv4, Size: 1448, Start: 34, Off: 16, Hdr: 54}
	b.Send(o, netdevtest.TCP4(54+10*1448))
	got := a.Receive(10, patience)
	if len(got) != 10 {
		t.Fatalf("%d frames, %d refused", len(got), netdevtest.Drops(&b.TxSt.Drops))
	}
	for _, g := range got {
		if len(g.Frame) != 54+1448 || g.Offload.Flags&packet.CsumPartial != 0 || !netdevtest.TCPChecksumOK(g.Frame) {
			t.Errorf("%d bytes, %+v, checksum right: %v", len(g.Frame), g.Offload, netdevtest.TCPChecksumOK(g.Frame))
		}
	}
}

// The device's MTU changes while the port runs (B60).
func TestMTUChange(t *testing.T) {
	ns, peer := pair(t)
	h := &netdevtest.Host{}
	d := netdevtest.Open(t, afpacket.Open, "v0", options(ns), h)
	a := netdevtest.NewPort(d)
	_, b := open(t, peer, "v1")
	jumbo := netdevtest.Frame(9014, 1)
	b.Send(netdevtest.Offload{}, jumbo)
	if n := b.TxSt.Drops[packet.TxOversize].Load(); n != 1 {
		t.Errorf("%d counted as oversize", n)
	}
	netdevtest.IP(t, "-n "+ns+" link set v0 mtu 9000")
	netdevtest.IP(t, "-n "+peer+" link set v1 mtu 9000")
	netdevtest.Eventually(t, patience, "the new MTU", func() bool { return d.Info().MTU == 9000 && h.Changes() > 0 })
	netdevtest.Eventually(t, patience, "a jumbo frame through", func() bool {
		b.Send(netdevtest.Offload{}, jumbo)
		got := a.Receive(1, 100*time.Millisecond)
		return len(got) == 1 && bytes.Equal(got[0].Frame, jumbo)
	})
	// The port's own wish.
	if err := d.(netdev.Adjuster).Adjust(netdev.Options{Map: options(ns).Map, MTU: 1400, MAC: "02:00:00:00:00:77"}); err != nil {
		t.Fatal(err)
	}
	netdevtest.Eventually(t, patience, "MTU and MAC as asked for", func() bool {
		i := d.Info()
		return i.MTU == 1400 && i.MAC.String() == "02:00:00:00:00:77"
	})
	a.Send(netdevtest.Offload{}, netdevtest.Frame(1414, 2), netdevtest.Frame(1415, 2), netdevtest.Frame(1418, 2, 0x8100_0005))
	if a.TxSt.Packets.Load() != 2 || a.TxSt.Drops[packet.TxOversize].Load() != 1 {
		t.Errorf("%d sent, %d oversize", a.TxSt.Packets.Load(), a.TxSt.Drops[packet.TxOversize].Load())
	}
	if err := d.(netdev.Adjuster).Adjust(netdev.Options{Map: options(ns).Map, MTU: 70000}); err == nil || !strings.Contains(err.Error(), "MTU 70000") {
		t.Errorf("error %v", err)
	}
	if d.Info().MTU != 1400 {
		t.Error("a refused change changed something")
	}
}

func TestInfo(t *testing.T) {
	ns, peer := pair(t)
	d, _ := open(t, ns, "v0")
	i := d.Info()
	if !i.Link || i.MTU != 1500 || len(i.MAC) != 6 || i.Speed != 10e9 || i.Duplex != "full" || i.IfIndex == 0 ||
		i.Driver != "veth" || i.Fault != "" || i.Status["driver_name"] != "veth" || i.Missed != 0 {
		t.Errorf("%+v", i)
	}
	netdevtest.IP(t, "-n "+peer+" link set v1 down")
	netdevtest.Eventually(t, patience, "link down", func() bool { return !d.Info().Link })
	netdevtest.IP(t, "-n "+peer+" link set v1 up")
	netdevtest.Eventually(t, patience, "link up", func() bool { return d.Info().Link })
}

// Frames that the kernel had no room for are reported, and not as a new status: each
// of those is written to the database.
func TestMissed(t *testing.T) {
	ns, peer := pair(t)
	o := options(ns)
	o.Map["n_rxq_desc"] = "64"
	d := netdevtest.Open(t, afpacket.Open, "v0", o, &netdevtest.Host{})
	a := netdevtest.NewPort(d)
	_, b := open(t, peer, "v1")
	netdevtest.Eventually(t, patience, "the link up", func() bool { return d.Info().Link })
	status := d.Info().Status
	for range 100 {
		b.Send(netdevtest.Offload{}, netdevtest.Frame(60, 1))
	}
	netdevtest.Eventually(t, patience, "36 missed", func() bool { return d.Info().Missed == 36 })
	if now := d.Info().Status; !maps.Equal(now, status) {
		t.Errorf("status %v, before %v", now, status)
	}
	if got := a.Receive(65, 100*time.Millisecond); len(got) != 64 {
		t.Errorf("%d in the ring", len(got))
	}
	b.Send(netdevtest.Offload{}, netdevtest.Frame(60, 1))
	if got := a.Receive(1, patience); len(got) != 1 {
		t.Error("nothing after the ring was full")
	}
}

// The switch sees frames for any address only as long as the port is there.
func TestPromiscuous(t *testing.T) {
	ns, _ := pair(t)
	flags := func() string { return netdevtest.IP(t, "-n "+ns+" -d link show v0") }
	d, err := afpacket.Open("v0", options(ns), &netdevtest.Host{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(flags(), "promiscuity 1") {
		t.Error(flags())
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(flags(), "promiscuity 0") {
		t.Error(flags())
	}
}

// The host does not answer on the port's device for addresses that it has
// elsewhere; the switch brings the question there.
func TestNoSecondARPAnswer(t *testing.T) {
	ns, peer := pair(t)
	netdevtest.IP(t, "-n "+ns+" link add i0 type veth peer name i1")
	netdevtest.IP(t, "-n "+ns+" addr add 10.9.9.1/24 dev i0")
	netdevtest.IP(t, "-n "+ns+" link set i0 up")
	d, err := afpacket.Open("v0", options(ns), &netdevtest.Host{})
	if err != nil {
		t.Fatal(err)
	}
	_, b := open(t, peer, "v1")
	ask := append(append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 2, 0, 0, 0, 0, 9),
		8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 9, 10, 9, 9, 9, 0, 0, 0, 0, 0, 0, 10, 9, 9, 1)
	b.Send(netdevtest.Offload{}, ask)
	if got := b.Receive(1, 100*time.Millisecond); len(got) != 0 {
		t.Errorf("answer %x", got[0].Frame)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	b.Send(netdevtest.Offload{}, ask)
	if got := b.Receive(1, patience); len(got) != 1 {
		t.Error("without the port the host does not answer as before")
	}
}

func TestOpenRefuses(t *testing.T) {
	ns, _ := pair(t)
	netdevtest.IP(t, "-n "+ns+" link add bridge0 type bridge")
	netdevtest.IP(t, "-n "+ns+" link add p0 type veth peer name p1")
	netdevtest.IP(t, "-n "+ns+" link set p0 master bridge0")
	open(t, ns, "v0")
	before := netdevtest.FDs(t)
	for _, c := range []struct {
		name, key, value, want string
	}{
		{"", "", "", "must not be empty"},
		{"abcdefghijklmnop", "", "", "16 bytes"},
		{"nosuch", "", "", "nosuch: no such device"},
		{"lo", "", "", "lo: is the loopback"},
		{"v0", "", "", "v0: device or resource busy"},
		{"p0", "", "", "p0: device or resource busy: it belongs to another bridge"},
		{"p1", "netns", "nosuchns", `network namespace "nosuchns": no such file`},
		{"p1", "n_rxq_desc", "100", `options:n_rxq_desc=100: must be a power of two`},
		{"p1", "n_rxq_desc", "32", `options:n_rxq_desc=32: must be a number from 64`},
		{"p1", "n_rxq", "2", `options:n_rxq=2`},
		{"p1", "perr", "x", "options:perr=x: not an option"},
		{"p1", "MAC", "zz", `mac "zz"`},
		{"p1", "MAC", "01:00:00:00:00:01", `mac "01:00`},
		{"p1", "MTU", "", "setting MTU 1000000"},
	} {
		o := options(ns)
		switch c.key {
		case "":
		case "MAC":
			o.MAC = c.value
		case "MTU":
			o.MTU = 1000000
		default:
			o.Map[c.key] = c.value
		}
		d, err := afpacket.Open(c.name, o, &netdevtest.Host{})
		if err == nil {
			_ = d.Close()
			t.Errorf("%q %s=%q accepted", c.name, c.key, c.value)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %s=%q: %v, want %q", c.name, c.key, c.value, err, c.want)
		}
	}
	if after := netdevtest.FDs(t); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func TestAdjust(t *testing.T) {
	ns, _ := pair(t)
	d, _ := open(t, ns, "v0")
	a := d.(netdev.Adjuster)
	if err := a.Adjust(options(ns)); err != nil {
		t.Error(err)
	}
	o := options(ns)
	o.Map["n_rxq_desc"] = "128"
	if err := a.Adjust(o); err != netdev.ErrReopen {
		t.Error(err)
	}
	o.Map["n_rxq_desc"] = "129"
	if err := a.Adjust(o); err == nil || err == netdev.ErrReopen {
		t.Error(err)
	}
}

func TestNoLeaks(t *testing.T) {
	ns, peer := pair(t)
	netdevtest.NoLeaks(t, func() {
		for i, x := range []string{ns, peer} {
			d, err := afpacket.Open(fmt.Sprintf("v%d", i), options(x), &netdevtest.Host{})
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestNoAllocs(t *testing.T) {
	a, b := ports(t)
	frames := [][]byte{netdevtest.Frame(60, 1), netdevtest.Frame(1514, 1, 0x8100_0005), netdevtest.TCP4(60000)}
	list := []uint16{0, 1, 2}
	n := 0
	allocs := testing.AllocsPerRun(200, func() {
		for i := range list {
			p := &b.Burst.Pkts[i]
			p.SetBytes(frames[i])
		}
		p := &b.Burst.Pkts[2]
		p.Flags, p.GSOType, p.GSOSize, p.HdrLen = packet.CsumPartial, packet.GSOTCPv4, 1448, 54
		p.CsumStart, p.CsumOffset = 34, 16
		b.Burst.Start(3)
		b.Tx.Send(b.Burst, list, b.TxSt)
		for tries := 0; tries < 1000; tries++ {
			k := a.Rx.Recv(a.Burst, a.RxSt)
			if n += k; k > 0 {
				a.Rx.Release()
			}
			if n%3 == 0 && k > 0 {
				break
			}
			a.Rx.Arm()
			a.Rx.Disarm()
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	if n != 603 {
		t.Errorf("%d frames of 603", n)
	}
}
