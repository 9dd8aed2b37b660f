package datapath

import (
	"bytes"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/packet"
)

func TestLearnAndForward(t *testing.T) {
	_, b := newSwitch(t)
	_, d1 := plug(t, b, "p1", trunk)
	p2, d2 := plug(t, b, "p2", trunk)
	_, d3 := plug(t, b, "p3", trunk)

	f := eth(2, 1)
	d1.send(f)
	settle(t, d1)
	if a, c := d2.sent(), d3.sent(); len(a) != 1 || len(c) != 1 || !bytes.Equal(a[0], f) || !bytes.Equal(c[0], f) {
		t.Fatalf("unknown destination: not flooded as it was: %x %x", a, c)
	}
	d2.send(eth(1, 2))
	settle(t, d2)
	if d1.count() != 1 || d3.count() != 0 {
		t.Fatalf("known destination: %d at port 1, %d at port 3", d1.count(), d3.count())
	}
	d1.sent()
	for range 100 {
		d1.send(f)
	}
	settle(t, d1)
	if d2.count() != 100 || d3.count() != 0 || d1.count() != 0 {
		t.Fatalf("learned destination: %d %d %d", d1.count(), d2.count(), d3.count())
	}
	m := b.MACTable()
	if len(m) != 2 || m[0].MAC.String() != mac(1).String() || m[1].Port != p2 {
		t.Fatalf("MAC table %+v", m)
	}
	if s := b.MACStats(); s.Learned != 2 || s.Current != 2 || s.Moved != 0 {
		t.Errorf("MAC stats %+v", s)
	}
	if s := p2.Stats(); s.TxPackets != 101 || s.RxPackets != 1 || s.TxBytes != 101*60 {
		t.Errorf("port stats %+v", s)
	}
}

func TestSamePortAndReserved(t *testing.T) {
	_, b := newSwitch(t)
	p1, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	d1.send(eth(-1, 1), eth(-1, 2))
	settle(t, d1)
	d2.sent()
	d1.send(eth(2, 1), eth(2, 1))
	stp := eth(0, 1)
	copy(stp, []byte{1, 0x80, 0xc2, 0, 0, 0xf})
	notReserved := eth(0, 1)
	copy(notReserved, []byte{1, 0x80, 0xc2, 0, 0, 0x10})
	d1.send(stp, stp, notReserved)
	settle(t, d1)
	if out := d2.sent(); len(out) != 1 || out[0][5] != 0x10 {
		t.Fatalf("sent %x", out)
	}
	if s := p1.Stats(); s.RxDrops[packet.SamePort] != 2 || s.RxDrops[packet.ReservedMAC] != 2 {
		t.Errorf("drops %v", s.RxDrops)
	}
	if err := b.Configure(BridgeConfig{ForwardBPDU: true}); err != nil {
		t.Fatal(err)
	}
	d1.send(stp)
	settle(t, d1)
	if d2.count() != 1 {
		t.Error("BPDU not forwarded when asked for")
	}
}

func TestReservedList(t *testing.T) {
	for _, c := range []struct {
		mac  [6]byte
		want bool
	}{
		{[6]byte{1, 0x80, 0xc2, 0, 0, 0}, true},
		{[6]byte{1, 0x80, 0xc2, 0, 0, 0x0e}, true},
		{[6]byte{1, 0x80, 0xc2, 0, 0, 0x10}, false},
		{[6]byte{1, 0x80, 0xc2, 0, 1, 0}, false},
		{[6]byte{0, 0xe0, 0x2b, 0, 0, 0}, true},
		{[6]byte{0, 0xe0, 0x2b, 0, 0, 4}, true},
		{[6]byte{0, 0xe0, 0x2b, 0, 0, 5}, false},
		{[6]byte{1, 0, 0xc, 0xcc, 0xcc, 0xcc}, true},
		{[6]byte{1, 0, 0xc, 0xcc, 0xcc, 0xcd}, true},
		{[6]byte{1, 0, 0xc, 0xcc, 0xcc, 0xc1}, true},
		{[6]byte{1, 0, 0xc, 0xcc, 0xcc, 0xd0}, false},
		{[6]byte{1, 0, 0xc, 0xcd, 0xcd, 0xcd}, true},
		{[6]byte{1, 0, 0xc, 0, 0, 0}, true},
		{[6]byte{1, 0, 0x5e, 0, 0, 1}, false},
	} {
		if got := isReserved(macWord(c.mac[:])); got != c.want {
			t.Errorf("%x: %v", c.mac, got)
		}
	}
}

func TestAging(t *testing.T) {
	d, b := newSwitch(t)
	if err := b.Configure(BridgeConfig{MACAging: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	_, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	_, d3 := plug(t, b, "p3", trunk)
	d1.send(eth(-1, 1))
	d2.send(eth(-1, 2))
	settle(t, d1, d2)
	// Host 1 goes on, by way of the cache all the time; host 2 is silent.
	for range 9 {
		d.Warp(1000)
		d1.send(eth(2, 1))
		settle(t, d1)
	}
	d.Warp(4000)
	d1.sent()
	d2.sent()
	d3.sent()
	d1.send(eth(2, 1))
	settle(t, d1)
	if d3.count() != 1 {
		t.Error("host 2 is known after 13 s of silence")
	}
	d2.send(eth(1, 2))
	settle(t, d2)
	if d3.count() != 1 {
		t.Error("host 1 was forgotten 4 s after its last frame")
	}
	if s := b.MACStats(); s.Expired != 1 {
		t.Errorf("%+v", s)
	}
}

func TestMove(t *testing.T) {
	d, b := newSwitch(t)
	_, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	_, d3 := plug(t, b, "p3", trunk)
	d2.send(eth(-1, 2))
	settle(t, d2)
	d1.send(eth(2, 1))
	settle(t, d1)
	d3.send(eth(-1, 2)) // host 2 migrates
	settle(t, d3)
	d1.sent()
	d2.sent()
	d3.sent()
	d.Warp(minFlush)
	d1.send(eth(2, 1))
	settle(t, d1)
	if d3.count() != 1 || d2.count() != 0 {
		t.Errorf("after the move: %d at the old port, %d at the new", d2.count(), d3.count())
	}
	if s := b.MACStats(); s.Moved != 1 {
		t.Errorf("%+v", s)
	}
}

func TestStatic(t *testing.T) {
	d, b := newSwitch(t)
	p1, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	_, d3 := plug(t, b, "p3", trunk)
	if err := b.AddStaticMAC(p1, 0, mac(1)); err != nil {
		t.Fatal(err)
	}
	d2.send(eth(-1, 1)) // somebody claims the address
	d.Warp(1000_000)    // and it does not age
	settle(t, d2)
	d1.sent()
	d3.sent()
	d2.send(eth(1, 2))
	settle(t, d2)
	if d1.count() != 1 || d3.count() != 0 {
		t.Error("static entry not used")
	}
	if s := b.MACStats(); s.StaticMoveDropped == 0 || s.Static != 1 || s.Moved != 0 {
		t.Errorf("%+v", s)
	}
	b.FlushMACs()
	if m := b.MACTable(); len(m) != 1 || !m[0].Static {
		t.Errorf("after flush: %+v", m)
	}
	if !b.DelMAC(0, mac(1)) || b.DelMAC(0, mac(1)) {
		t.Error("DelMAC")
	}
	for _, bad := range []struct {
		vlan int
		mac  []byte
	}{{0, mac(-1)}, {4096, mac(1)}, {-1, mac(1)}, {0, mac(1)[:5]}, {0, make([]byte, 6)}} {
		if b.AddStaticMAC(p1, bad.vlan, bad.mac) == nil {
			t.Errorf("static MAC %x in VLAN %d accepted", bad.mac, bad.vlan)
		}
	}
}

// A port that goes takes its addresses along, and its number may be used again.
func TestRemovePort(t *testing.T) {
	_, b := newSwitch(t)
	_, d1 := plug(t, b, "p1", trunk)
	p2, d2 := plug(t, b, "p2", trunk)
	d2.send(eth(-1, 2))
	settle(t, d2)
	d1.send(eth(2, 1))
	settle(t, d1)
	p2.Remove()
	p3, d3 := plug(t, b, "p3", trunk)
	if p3.ID() != p2.ID() || p3.OFPort() != 2 {
		t.Errorf("numbers %d and %d not used again", p3.ID(), p3.OFPort())
	}
	if m := b.MACTable(); len(m) != 1 {
		t.Errorf("MAC table %+v", m)
	}
	d3.sent()
	d1.send(eth(2, 1))
	settle(t, d1)
	if d3.count() != 1 {
		t.Error("not flooded after the port went")
	}
}

func TestPortDown(t *testing.T) {
	_, b := newSwitch(t)
	p1, d1 := plug(t, b, "p1", trunk)
	p2, d2 := plug(t, b, "p2", trunk)
	d2.send(eth(-1, 2))
	settle(t, d2)
	d1.sent()
	down := trunk
	down.AdminUp = false
	if err := p1.Configure(down); err != nil {
		t.Fatal(err)
	}
	d1.send(eth(2, 1), eth(2, 1))
	settle(t, d1)
	d2.send(eth(-1, 2))
	settle(t, d2)
	if d2.count()+d1.count() != 0 {
		t.Error("a port that is down passes frames")
	}
	if s := p1.Stats(); s.RxDrops[packet.PortDown] != 2 {
		t.Errorf("%v", s.RxDrops)
	}
	if err := p1.Configure(trunk); err != nil {
		t.Fatal(err)
	}
	if err := p2.Configure(down); err != nil {
		t.Fatal(err)
	}
	if err := b.AddStaticMAC(p2, 0, mac(7)); err != nil {
		t.Fatal(err)
	}
	d1.send(eth(7, 1))
	settle(t, d1)
	if s := p2.Stats(); s.TxDrops[packet.PortDown] != 1 {
		t.Errorf("%v", s.TxDrops)
	}
}

func TestRunt(t *testing.T) {
	_, b := newSwitch(t)
	p1, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	d1.send(eth(-1, 1)[:14], eth(-1, 1)[:17], tagged(-1, 1, 5)[:17], tagged(-1, 1, 5)[:14], tagged(-1, 1, 5)[:18], eth(-1, 1)[:13])
	settle(t, d1)
	if d2.count() != 3 {
		t.Errorf("%d of 3 short frames passed", d2.count())
	}
	if s := p1.Stats(); s.RxDrops[packet.RxBadTag] != 2 || s.RxDrops[packet.RxRunt] != 1 {
		t.Errorf("%v", s.RxDrops)
	}
}
