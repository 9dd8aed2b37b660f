package datapath

import (
	"fmt"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/internal/lacp"
	"github.com/gvswitch/gvswitch/packet"
)

// setLink changes the carrier of a fake, and says so.
func (d *fake) setLink(dp *Datapath, up bool) {
	d.mu.Lock()
	d.info.Link = up
	d.mu.Unlock()
	dp.Changed(d)
}

// bonded is a switch with one plain port and a bond of several.
type bonded struct {
	t     *testing.T
	d     *Datapath
	b     *Bridge
	host  *fake
	devs  []*fake
	ports []*Port
	o     *Bond
}

func newBonded(t *testing.T, members int, c BondConfig) *bonded {
	d, b := newSwitch(t)
	x := &bonded{t: t, d: d, b: b}
	_, x.host = plug(t, b, "host", trunk)
	var l []BondMember
	for i := range members {
		p, dev := plug(t, b, fmt.Sprint("m", i), trunk)
		x.ports, x.devs = append(x.ports, p), append(x.devs, dev)
		l = append(l, BondMember{Port: p})
	}
	o, err := b.AddBond("bond0", c, l)
	if err != nil {
		t.Fatal(err)
	}
	x.o = o
	t.Cleanup(o.Remove)
	return x
}

// out sends frames by the host and gives how many leave by each member.
func (x *bonded) out(frames ...[]byte) (n []int) {
	x.t.Helper()
	x.clear()
	x.host.send(frames...)
	settle(x.t, x.host)
	for _, dev := range x.devs {
		n = append(n, dev.data())
	}
	return n
}

// data takes what the switch sent so far and counts what is no RARP and no LACPDU.
func (d *fake) data() (n int) {
	for _, f := range d.sent() {
		if typ := int(f[12])<<8 | int(f[13]); typ != 0x8035 && typ != lacp.EtherType {
			n++
		}
	}
	return n
}

func (x *bonded) clear() {
	x.host.sent()
	for _, dev := range x.devs {
		dev.sent()
	}
}

func (x *bonded) active() string {
	if s := x.o.Status(); s.Active != nil {
		return s.Active.Name()
	}
	return ""
}

func same(a []int, b ...int) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// each runs a test with every way to decide that may be used.
func each(t *testing.T, f func(t *testing.T, flows FlowConfig)) {
	for name, c := range map[string]FlowConfig{"words": {}, "flows": {NoWords: true}} {
		t.Run(name, func(t *testing.T) { f(t, c) })
	}
}

func TestBondActiveBackup(t *testing.T) {
	each(t, func(t *testing.T, flows FlowConfig) {
		x := newBonded(t, 2, BondConfig{})
		if err := x.d.SetFlowConfig(flows); err != nil {
			t.Fatal(err)
		}
		if n := x.out(eth(-1, 1), eth(-1, 1)); !same(n, 2, 0) {
			t.Fatalf("broadcast: %v", n)
		}
		// A host beyond the bond is learned on the bond, wherever it was seen.
		x.devs[0].send(eth(1, 2))
		settle(t, x.devs[0])
		if x.host.count() != 1 {
			t.Fatal("from the active member: not forwarded")
		}
		if n := x.out(eth(2, 1)); !same(n, 1, 0) {
			t.Fatalf("to the bond: %v", n)
		}
		// The backup takes nothing, and nothing goes back into the bond.
		x.clear()
		x.devs[1].send(eth(1, 3), eth(-1, 3))
		x.devs[0].send(eth(2, 4), eth(-1, 4))
		settle(t, x.devs...)
		if h, m0, m1 := x.host.data(), x.devs[0].data(), x.devs[1].data(); h != 1 || m0+m1 != 0 {
			t.Errorf("%d at the host, %d and %d back into the bond", h, m0, m1)
		}
		if n := x.ports[1].Stats().RxDrops[packet.BondInactive]; n != 2 {
			t.Errorf("%d dropped as inactive", n)
		}
		// The link is lost: the other one takes over at once, and the network is told where host 1 is.
		x.clear()
		x.devs[0].setLink(x.d, false)
		if n := x.out(eth(2, 1), eth(2, 1)); !same(n, 0, 2) {
			t.Fatalf("after the loss: %v", n)
		}
		if a := x.active(); a != "m1" {
			t.Errorf("active is %q", a)
		}
		x.devs[1].send(eth(1, 2))
		settle(t, x.devs[1])
		if x.host.count() != 1 {
			t.Error("the new active member takes nothing")
		}
		// Back again: the active one stays.
		x.devs[0].setLink(x.d, true)
		if n := x.out(eth(2, 1)); !same(n, 0, 1) {
			t.Errorf("after the return: %v", n)
		}
		x.devs[1].setLink(x.d, false)
		x.devs[0].setLink(x.d, false)
		if n := x.out(eth(2, 1), eth(-1, 1)); !same(n, 0, 0) {
			t.Errorf("without links: %v", n)
		}
	})
}

// A member that an operator disabled does not come back because another one's link is lost.
func TestBondDisabledStays(t *testing.T) {
	x := newBonded(t, 2, BondConfig{})
	eventually(t, "both enabled", func() bool { return x.active() == "m0" && x.o.Status().Members[1].Enabled })
	if err := x.o.Enable("m1", false); err != nil {
		t.Fatal(err)
	}
	x.devs[0].setLink(x.d, false)
	eventually(t, "m0 lost", func() bool { return !x.o.Status().Members[0].Enabled })
	if n := x.out(eth(2, 1)); !same(n, 0, 0) || x.active() != "" {
		t.Errorf("sent %v, active is %q", n, x.active())
	}
	x.devs[1].setLink(x.d, false)
	eventually(t, "m1 lost", func() bool { return !x.o.Status().Members[1].MayEnable })
	x.devs[1].setLink(x.d, true) // its link has changed: it counts again
	eventually(t, "m1 active", func() bool { return x.active() == "m1" })
}

// After a change of the active member, a RARP for each address of the bridge leaves by it.
func TestBondTeach(t *testing.T) {
	x := newBonded(t, 2, BondConfig{})
	for i := range 300 {
		x.host.send(tagged(-1, 100+i, uint16(i%3)))
	}
	settle(t, x.host)
	x.clear()
	x.devs[0].setLink(x.d, false)
	eventually(t, "300 RARPs", func() bool { return x.devs[1].count() >= 300 })
	seen := map[string]bool{}
	for _, f := range x.devs[1].sent() {
		at := 12
		vid := 0
		if f[12] == 0x81 {
			at, vid = 16, int(f[15])
		}
		if f[at] != 0x80 || f[at+1] != 0x35 || len(f) < 60 {
			t.Fatalf("%x", f)
		}
		seen[fmt.Sprint(vid, f[6:12])] = true
	}
	if len(seen) != 300 {
		t.Errorf("%d addresses told", len(seen))
	}
}

func TestBondDelaysAndPrimary(t *testing.T) {
	x := newBonded(t, 2, BondConfig{UpDelay: 3 * time.Second, DownDelay: 2 * time.Second, Primary: "m0"})
	enabled := func(want ...bool) bool {
		s := x.o.Status()
		return s.Members[0].Enabled == want[0] && s.Members[1].Enabled == want[1]
	}
	eventually(t, "first member enabled at once", func() bool { return x.active() != "" })
	x.d.Warp(3100)
	eventually(t, "both enabled", func() bool { return enabled(true, true) && x.active() == "m0" })
	x.devs[0].setLink(x.d, false)
	x.d.Warp(1000)
	if !enabled(true, true) {
		t.Error("down before its delay")
	}
	x.d.Warp(1100)
	eventually(t, "down after its delay", func() bool { return enabled(false, true) && x.active() == "m1" })
	x.devs[0].setLink(x.d, true)
	x.d.Warp(2000)
	if !enabled(false, true) {
		t.Error("up before its delay")
	}
	x.d.Warp(1100)
	eventually(t, "primary again", func() bool { return enabled(true, true) && x.active() == "m0" })
	// A link that comes back in time was never away.
	x.devs[0].setLink(x.d, false)
	x.d.Warp(1000)
	x.devs[0].setLink(x.d, true)
	x.d.Warp(5000)
	if !enabled(true, true) || x.active() != "m0" {
		t.Error("a short loss counts")
	}
}

func TestBondSLB(t *testing.T) {
	x := newBonded(t, 3, BondConfig{Mode: BondSLB})
	var frames [][]byte
	for i := range 256 {
		frames = append(frames, eth(900, 100+i))
	}
	n := x.out(frames...)
	if n[0]+n[1]+n[2] != 256 || min(n[0], n[1], n[2]) < 40 {
		t.Fatalf("256 sources: %v", n)
	}
	// One source always goes the same way, that of bond/hash.
	k := BondHash(mac(100), 0, 0) % 3
	n = x.out(eth(901, 100), eth(-1, 100), eth(902, 100))
	if n[0]+n[1]+n[2] != 3 || n[k] != 3 {
		t.Errorf("one source: %v, member %d expected", n, k)
	}
	// Multicast is taken by the active member only, its own frames that come back by nobody.
	x.clear()
	act := 0
	for i := range 3 {
		if x.active() == x.ports[i].Name() {
			act = i
		}
	}
	for i := range 3 {
		x.devs[i].send(eth(-1, 7))   // a host beyond
		x.devs[i].send(eth(-1, 100)) // one of ours
		x.devs[i].send(eth(800, 100))
	}
	settle(t, x.devs...)
	if n := len(x.host.sent()); n != 1 {
		t.Errorf("%d of 9 frames at the host, member %d is active", n, act)
	}
	var reflected uint64
	for _, p := range x.ports {
		reflected += p.Stats().RxDrops[packet.BondReflected]
	}
	if reflected != 4 {
		t.Errorf("%d reflected", reflected)
	}
	if m := x.b.MACTable(); len(m) != 257 {
		t.Errorf("%d addresses", len(m))
	}
	// Host 100 moves to beyond the bond and says so.
	x.devs[act].send(garp(100))
	settle(t, x.devs...)
	x.clear()
	x.devs[act].send(eth(101, 100))
	settle(t, x.devs...)
	if x.host.count() != 1 {
		t.Error("a host that has moved is not believed")
	}
	// It moves back, and its own ARP, which comes back by the bond, does not change that.
	x.host.send(garp(100))
	settle(t, x.host)
	x.clear()
	x.devs[act].send(garp(100))
	settle(t, x.devs...)
	for _, m := range x.b.MACTable() {
		if m.MAC.String() == mac(100).String() && m.Port.Name() != "host" {
			t.Error("a reflected ARP moved its sender")
		}
	}
}

// garp is a gratuitous ARP of a host.
func garp(n int) []byte {
	f := append(append(mac(-1), mac(n)...), 8, 6, 0, 1, 8, 0, 6, 4, 0, 1)
	f = append(append(f, mac(n)...), 10, 0, 0, byte(n))
	f = append(append(f, 0, 0, 0, 0, 0, 0), 10, 0, 0, byte(n))
	return append(f, make([]byte, 18)...)
}

func TestBondRefused(t *testing.T) {
	d, b := newSwitch(t)
	p, _ := plug(t, b, "p", trunk)
	q, _ := plug(t, b, "q", trunk)
	other, err := d.AddBridge("br1", BridgeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	r, _ := plug(t, other, "r", trunk)
	o, err := b.AddBond("bond0", BondConfig{}, []BondMember{{Port: p}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		c BondConfig
		m []BondMember
	}{
		"nobody": {}, "of another bridge": {m: []BondMember{{Port: r}}}, "taken": {m: []BondMember{{Port: q}, {Port: p}}},
		"twice": {m: []BondMember{{Port: q}, {Port: q}}}, "nil": {m: []BondMember{{}}},
		"mode":         {BondConfig{Mode: 3}, []BondMember{{Port: q}}},
		"no system id": {BondConfig{LACP: LACPActive}, []BondMember{{Port: q}}},
	} {
		if _, err := b.AddBond("bond1", c.c, c.m); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if q.bond != nil || len(b.Bonds()) != 1 {
		t.Error("a refused bond left something")
	}
	p.Remove()
	if s := o.Status(); len(s.Members) != 0 || s.Active != nil {
		t.Errorf("%+v", s)
	}
	o.Remove()
	o.Remove()
}
