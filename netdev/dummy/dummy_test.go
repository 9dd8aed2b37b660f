package dummy_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/dummy"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

func open(t testing.TB, options ...string) (*dummy.Device, *netdevtest.Port, *netdevtest.Host) {
	t.Helper()
	h := &netdevtest.Host{}
	d := netdevtest.Open(t, dummy.Open, "p0", netdev.Options{Map: m(options...)}, h)
	return d.(*dummy.Device), netdevtest.NewPort(d), h
}

func m(options ...string) map[string]string {
	x := map[string]string{}
	for _, o := range options {
		k, v, _ := strings.Cut(o, "=")
		x[k] = v
	}
	return x
}

func TestReceive(t *testing.T) {
	d, p, _ := open(t)
	var want [][]byte
	for n := 14; n < 3000; n += 37 {
		want = append(want, netdevtest.Frame(n, 1))
	}
	d.Receive(want...)
	d.Receive(nil, make([]byte, 13), make([]byte, packet.MaxFrame+1))
	got := p.Receive(len(want)+1, 100*time.Millisecond)
	if len(got) != len(want) {
		t.Fatalf("%d of %d", len(got), len(want))
	}
	for i, g := range got {
		if !bytes.Equal(g.Frame, want[i]) {
			t.Errorf("frame %d differs", i)
		}
	}
	if p.RxSt.Drops[packet.RxRunt].Load() != 2 || p.RxSt.Drops[packet.RxTooLong].Load() != 1 || p.RxSt.Packets.Load() != uint64(len(want)) {
		t.Error("counters")
	}
}

func TestReceiveOffload(t *testing.T) {
	d, p, _ := open(t)
	h := [12]byte{1, 1, 54, 0, 0xa8, 5, 34, 0, 16, 0}
	d.ReceiveOffload(0, h, netdevtest.TCP4(60000))
	h[6] = 35
	d.ReceiveOffload(0, h, netdevtest.TCP4(60000))
	want := netdevtest.Offload{Flags: packet.CsumPartial, GSO: packet.GSOTCPv4, Size: 1448, Start: 34, Off: 16, Hdr: 54}
	if got := p.Receive(2, 50*time.Millisecond); len(got) != 1 || got[0].Offload != want {
		t.Errorf("received %d", len(got))
	}
	if p.RxSt.Drops[packet.RxBadOffload].Load() != 1 {
		t.Error("a header that does not fit was taken")
	}
}

func TestSleep(t *testing.T) {
	d, p, _ := open(t)
	for range 10 {
		if !p.Rx.Arm() || netdevtest.Readable(t, p.Rx.FD(), 0) {
			t.Fatal("not empty")
		}
		d.Receive(netdevtest.Frame(60, 1))
		if p.Rx.Arm() || !netdevtest.Readable(t, p.Rx.FD(), time.Second) {
			t.Fatal("not woken")
		}
		p.Rx.Disarm()
		if len(p.Receive(1, time.Second)) != 1 {
			t.Fatal("nothing received")
		}
	}
}

func TestTransmitted(t *testing.T) {
	d, p, _ := open(t, "capture=3", "csum=true")
	var frames [][]byte
	for i := range 5 {
		frames = append(frames, netdevtest.Frame(60+200*i, byte(i)))
	}
	p.Send(netdevtest.Offload{}, frames...)
	got := d.Transmitted()
	if len(got) != 3 || !bytes.Equal(got[0], frames[2]) || !bytes.Equal(got[2], frames[4]) {
		t.Errorf("%d frames kept", len(got))
	}
	if len(d.TakeTransmitted()) != 3 || len(d.Transmitted()) != 0 {
		t.Error("frames were not forgotten")
	}
	tcp := netdevtest.TCP4(1000)
	p.Send(netdevtest.Offload{Flags: packet.CsumPartial, Start: 34, Off: 16}, tcp)
	if s := d.TakeTransmitted(); len(s) != 1 || !bytes.Equal(s[0].Frame, tcp) || s[0].Header != [12]byte{1, 0, 0, 0, 0, 0, 34, 0, 16} {
		t.Errorf("%+v", s)
	}
}

// What does not fit the receiver is refused under its name.
func TestRefuses(t *testing.T) {
	gso := netdevtest.Offload{Flags: packet.CsumPartial, GSO: packet.GSOTCPv4, Size: 1448, Start: 34, Off: 16, Hdr: 54}
	big, ecn, six := gso, gso, gso
	big.Size = 1461
	ecn.Flags |= packet.ECN
	six.GSO = packet.GSOTCPv6
	for _, c := range []struct {
		options string
		o       netdevtest.Offload
		len     int
		want    packet.DropReason
	}{
		{"", netdevtest.Offload{}, 1514, packet.DropNone},
		{"", netdevtest.Offload{}, 1515, packet.TxOversize},
		{"max-len=1000", netdevtest.Offload{}, 1001, packet.TxTooLong},
		{"blocked=true", netdevtest.Offload{}, 60, packet.TxRingFull},
		{"", netdevtest.Offload{Flags: packet.CsumPartial, Start: 34, Off: 16}, 100, packet.TxNeedsOffload},
		{"csum=true", netdevtest.Offload{Flags: packet.CsumPartial, Start: 34, Off: 16}, 100, packet.DropNone},
		{"csum=true", gso, 60000, packet.TxNeedsOffload},
		{"tso4=true", gso, 60000, packet.TxNeedsOffload},
		{"csum=true tso4=true", gso, 60000, packet.DropNone},
		{"csum=true tso4=true", big, 60000, packet.TxOversize},
		{"csum=true tso4=true", ecn, 60000, packet.TxNeedsOffload},
		{"csum=true tso4=true ecn=true", ecn, 60000, packet.DropNone},
		{"csum=true tso4=true", six, 60000, packet.TxNeedsOffload},
		{"csum=true tso6=true", six, 60000, packet.DropNone},
		{"csum=true tso4=true max-len=30000", gso, 60000, packet.TxTooLong},
	} {
		d, p, _ := open(t, strings.Fields(c.options)...)
		p.Send(c.o, netdevtest.TCP4(c.len))
		n := len(d.Transmitted())
		if c.want == packet.DropNone && n != 1 || c.want != packet.DropNone && (n != 0 || p.TxSt.Drops[c.want].Load() != 1) {
			t.Errorf("%q, %d bytes, %+v: %d sent, %d counted as %v", c.options, c.len, c.o, n, p.TxSt.Drops[c.want].Load(), c.want)
		}
	}
}

func TestAdjust(t *testing.T) {
	d, p, h := open(t)
	if i := d.Info(); !i.Link || i.MTU != 1500 || i.MAC != nil || i.Driver != "dummy" {
		t.Errorf("%+v", i)
	}
	if err := d.Adjust(netdev.Options{Map: m("link=false", "blocked=true"), MTU: 9000, MAC: "02:00:00:00:00:01"}); err != nil {
		t.Fatal(err)
	}
	if i := d.Info(); i.Link || i.MTU != 9000 || i.MAC.String() != "02:00:00:00:00:01" {
		t.Errorf("%+v", i)
	}
	netdevtest.Eventually(t, time.Second, "an announcement", func() bool { return h.Changes() == 1 })
	p.Send(netdevtest.Offload{}, netdevtest.Frame(60, 1))
	d.SetBlocked(false)
	d.SetLink(true)
	p.Send(netdevtest.Offload{}, netdevtest.Frame(9000, 1))
	if p.TxSt.Drops[packet.TxRingFull].Load() != 1 || len(d.Transmitted()) != 1 || !d.Info().Link {
		t.Error("blocked and link")
	}
	netdevtest.Eventually(t, time.Second, "an announcement", func() bool { return h.Changes() == 2 })
	if err := d.Adjust(netdev.Options{Map: m("csum=true")}); !errors.Is(err, netdev.ErrReopen) {
		t.Error(err)
	}
	if err := d.Adjust(netdev.Options{Map: m("csum=maybe")}); err == nil || errors.Is(err, netdev.ErrReopen) {
		t.Error(err)
	}
}

func TestPcap(t *testing.T) {
	dir := t.TempDir()
	both, out := filepath.Join(dir, "both"), filepath.Join(dir, "out")
	read := func(path string) (lengths []int) {
		b, err := os.ReadFile(path)
		if err != nil || len(b) < 24 || binary.LittleEndian.Uint32(b) != 0xa1b2c3d4 || b[20] != 1 {
			t.Fatalf("%s: %v, %x", path, err, b)
		}
		for b = b[24:]; len(b) > 0; {
			n := int(binary.LittleEndian.Uint32(b[8:]))
			if !bytes.Equal(b[16:16+n], netdevtest.Frame(n, 1)) {
				t.Errorf("%s: frame of %d bytes differs", path, n)
			}
			lengths = append(lengths, n)
			b = b[16+n:]
		}
		return lengths
	}
	for _, c := range []struct {
		options    []string
		both, sent int
	}{
		{[]string{"pcap=" + both}, 2, 0},
		{[]string{"pcap=" + both, "tx_pcap=" + out}, 1, 1},
	} {
		d, p, _ := open(t, c.options...)
		d.Receive(netdevtest.Frame(60, 1))
		p.Receive(1, time.Second)
		p.Send(netdevtest.Offload{}, netdevtest.Frame(1000, 1))
		if got := read(both); len(got) != c.both || got[0] != 60 {
			t.Errorf("%v: frames of %v bytes", c.options, got)
		}
		if c.sent > 0 {
			if got := read(out); len(got) != c.sent || got[0] != 1000 {
				t.Errorf("%v: frames of %v bytes", c.options, got)
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	before := netdevtest.FDs(t)
	for _, c := range []struct{ name, option, want string }{
		{"", "", "must not be empty"},
		{"p", "csum=1", `options:csum=1: must be true or false`},
		{"p", "max-len=13", "from 14"},
		{"p", "n_rxq=0", "from 1"},
		{"p", "perr=1", "options:perr=1: not an option"},
		{"p", "pcap=/nosuch/dir/x", "p: capture file: open /nosuch/dir/x"},
		{"p", "tx_pcap=/nosuch/dir/x", "p: capture file"},
	} {
		o := netdev.Options{}
		if c.option != "" {
			o.Map = m(c.option)
		}
		if _, err := dummy.Open(c.name, o, &netdevtest.Host{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %s: %v", c.name, c.option, err)
		}
	}
	if after := netdevtest.FDs(t); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func TestParseHex(t *testing.T) {
	if b, err := dummy.ParseHex(" 00ff\n 1A 2b"); err != nil || !bytes.Equal(b, []byte{0, 0xff, 0x1a, 0x2b}) {
		t.Errorf("%x, %v", b, err)
	}
	for _, s := range []string{"0", "0g", "zz"} {
		if _, err := dummy.ParseHex(s); err == nil || !strings.Contains(err.Error(), s) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestQueuesAndLeaks(t *testing.T) {
	netdevtest.NoLeaks(t, func() {
		d, err := dummy.Open("p0", netdev.Options{Map: m("n_rxq=3", "n_txq=2")}, &netdevtest.Host{})
		if err != nil {
			t.Fatal(err)
		}
		rx, tx := d.Queues()
		if len(rx) != 3 || len(tx) != 2 {
			t.Errorf("%d, %d queues", len(rx), len(tx))
		}
		d.(*dummy.Device).ReceiveOffload(2, [12]byte{}, netdevtest.Frame(60, 1))
		if !rx[0].Arm() || rx[2].Arm() {
			t.Error("wrong queue")
		}
		d.(*dummy.Device).SetLink(false)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestNoAllocs(t *testing.T) {
	d, p, _ := open(t, "capture=4")
	frame, list := netdevtest.Frame(1000, 1), []uint16{0}
	for range 110 {
		d.Receive(frame)
	}
	got := 0
	if n := testing.AllocsPerRun(2, func() {
		got += p.Rx.Recv(p.Burst, p.RxSt)
		for range 8 {
			p.Tx.Send(p.Burst, list, p.TxSt)
		}
		p.Rx.Release()
		p.Rx.Arm()
		p.Rx.Disarm()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if got != 96 {
		t.Errorf("%d received", got)
	}
}

// A command may still have a device that is closed: its descriptors are somebody else's.
func TestUseAfterClose(t *testing.T) {
	d, err := dummy.Open("p0", netdev.Options{}, &netdevtest.Host{})
	if err != nil {
		t.Fatal(err)
	}
	dev := d.(*dummy.Device)
	rx, _ := dev.Queues()
	fd := rx[0].FD()
	if err := dev.Close(); err != nil {
		t.Fatal(err)
	}
	other, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(other) }()
	if other != fd {
		if err := unix.Dup3(other, fd, unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Close(fd) }()
	}
	if dev.ReceiveOffload(0, [vnet.Len]byte{}, netdevtest.Frame(60, 1)) {
		t.Error("a closed device takes frames")
	}
	dev.SetLink(false)
	if netdevtest.Readable(t, other, 0) {
		t.Error("somebody else's descriptor was written to")
	}
	if !dev.Info().Link {
		t.Error("a closed device changes")
	}
}
