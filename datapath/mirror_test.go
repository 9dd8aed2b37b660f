package datapath

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
)

// What mirrors do is in flowtest/testdata/mirror.flow. Here are their life, their counters and their cost.

func mirrored(t *testing.T, b *Bridge, name string, want string) {
	t.Helper()
	b.SyncFlowStats()
	s, ok := b.MirrorStats(name)
	if got := fmt.Sprintf("%v %d/%d", ok, s.Packets, s.Bytes); got != want {
		t.Errorf("mirror %s: %s, want %s", name, got, want)
	}
}

func TestMirrorLife(t *testing.T) {
	d, b := newSwitch(t)
	_, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	pm, dm := plug(t, b, "mon", trunk)
	get := func(want ...int) {
		t.Helper()
		settle(t, d1, d2, dm)
		d.Synchronize()
		for i, x := range []*fake{d1, d2, dm} {
			if n := len(x.sent()); n != want[i] {
				t.Errorf("port %d got %d frames, want %d", i+1, n, want[i])
			}
		}
	}
	set := func(l ...MirrorConfig) {
		t.Helper()
		if err := b.SetMirrors(l); err != nil {
			t.Fatal(err)
		}
	}
	dm.send(eth(-1, 9)) // learned there, and forgotten when the port is reserved
	get(1, 1, 0)
	d1.send(eth(9, 1))
	get(0, 0, 1)
	all := MirrorConfig{Name: "m0", All: true, OutPort: "mon"}
	set(all)
	if n := len(b.MACTable()); n != 1 {
		t.Errorf("%d addresses are left: %+v", n, b.MACTable())
	}
	d1.send(eth(2, 1), eth(9, 1))
	get(0, 2, 2)
	mirrored(t, b, "m0", "true 2/120")
	dm.send(eth(-1, 9))
	get(0, 0, 0)
	if s := pm.Stats(); s.RxDrops[packet.MirrorOutput] != 1 {
		t.Errorf("%+v", s.RxDrops)
	}
	d1.send(eth(0x10000, 1)) // an address that is not there
	get(0, 1, 1)

	// Counters stay when the mirror changes, and go with it.
	all.SnapLen = 20
	set(all)
	d2.send(eth(1, 2))
	settle(t, d2)
	d.Synchronize()
	if l := dm.sent(); len(l) != 1 || !bytes.Equal(l[0], eth(1, 2)[:20]) {
		t.Errorf("%x", l)
	}
	get(1, 0, 0)
	mirrored(t, b, "m0", "true 4/240")
	set(MirrorConfig{Name: "other", All: true, OutPort: "not there"})
	mirrored(t, b, "m0", "false 0/0")
	d1.send(eth(2, 1))
	get(0, 1, 0)
	mirrored(t, b, "other", "true 0/0")

	// Without mirrors the bridge decides by the short way again.
	set()
	d1.send(eth(2, 1))
	get(0, 1, 0)
	d.running()[0].do(func() {
		if m := d.threads[0].pr[0].mode; m != modeWords {
			t.Errorf("mode %d", m)
		}
	})

	// The output port may come later.
	set(MirrorConfig{Name: "late", SrcPorts: []string{"p1"}, OutPort: "late"})
	d1.send(eth(2, 1))
	get(0, 1, 0)
	_, dl := plug(t, b, "late", trunk)
	d1.send(eth(2, 1))
	get(0, 1, 0)
	if n := len(dl.sent()); n != 1 {
		t.Errorf("the late port got %d", n)
	}
}

func TestMirrorsRefused(t *testing.T) {
	_, b := newSwitch(t)
	ok := MirrorConfig{Name: "m", OutVLAN: 5}
	in := ok
	in.Filter.Key.SetInPort(1)
	in.Filter.Mask[flow.WordPort] = portBits
	for want, l := range map[string][]MirrorConfig{
		"no output":                {{Name: "m"}},
		"output VLAN 4096":         {{Name: "m", OutVLAN: 4096}},
		"snaplen 13":               {{Name: "m", OutVLAN: 5, SnapLen: 13}},
		"VLAN 4096":                {{Name: "m", OutVLAN: 5, VLANs: []int{4096}}},
		"two mirrors":              {ok, ok},
		"in_port":                  {in},
		"33 mirrors: more than 32": make([]MirrorConfig, 33),
	} {
		if err := b.SetMirrors(l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A bond that is a mirror's output gets each packet once, by the member that the bond chooses.
func TestMirrorToBond(t *testing.T) {
	x := newBonded(t, 2, BondConfig{Mode: BondActiveBackup})
	_, other := plug(t, x.b, "other", trunk)
	if err := x.b.SetMirrors([]MirrorConfig{{Name: "m", SrcPorts: []string{"host"}, OutPort: "m1"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a member is active", func() bool {
		n := x.out(eth(2, 1), eth(3, 1))
		return n[0]+n[1] == 2 && n[0]*n[1] == 0
	})
	if other.count() == 0 {
		t.Error("nothing was flooded")
	}
	x.devs[0].send(eth(1, 2))
	settle(t, x.devs[0])
	if s := x.ports[0].Stats(); s.RxDrops[packet.MirrorOutput] != 1 {
		t.Errorf("%+v", s.RxDrops)
	}
}

// Mirrored packets cost no memory, nor do those that are translated.
func TestMirrorsAllocateNothing(t *testing.T) {
	for _, rules := range [][]string{
		{"actions=normal"},
		{"in_port=1,actions=2", "in_port=2,actions=1"},
		{"udp,actions=dec_ttl,all"},
	} {
		d, br, th := bare(t)
		flowPair(t, br, th, 1024, rules...)
		plugDev(t, br, "mon", trunk, &benchDev{})
		if err := br.SetMirrors([]MirrorConfig{
			{Name: "m0", All: true, OutPort: "mon", SnapLen: 32},
			{Name: "m1", DstPorts: []string{"p1"}, VLANs: []int{0, 7}, OutVLAN: 99},
		}); err != nil {
			t.Fatal(err)
		}
		for range 200 {
			th.iterate()
		}
		if n := testing.AllocsPerRun(200, th.iterate); n != 0 {
			t.Errorf("%v: %v allocations an iteration", rules, n)
		}
		d.PurgeMegaflows()
		if n := testing.AllocsPerRun(100, th.iterate); n != 0 {
			t.Errorf("%v: %v allocations an iteration after a purge", rules, n)
		}
		if s, _ := br.MirrorStats("m0"); s.Packets == 0 {
			t.Errorf("%v: nothing was mirrored", rules)
		}
	}
}

// Mirrors and rates come and go while packets do; none is lost without a name.
func TestMirrorChurn(t *testing.T) {
	d, b := newSwitch(t)
	if err := d.SetThreads(ThreadConfig{CPUs: []int{0, 1}}); err != nil {
		t.Fatal(err)
	}
	var ports []*Port
	var devs []*fake
	for i := range 4 {
		p, dev := plug(t, b, fmt.Sprint("p", i), trunk)
		ports, devs = append(ports, p), append(devs, dev)
	}
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			devs[i%2].send(udp(1+(i+1)%2, 1+i%2, i%8, 9), tagged(-1, 1+i%2, uint16(5+i%3)))
			if i%64 == 0 {
				settle(t, devs...)
			}
		}
	}()
	mirrored := func() bool { return devs[2].count() != 0 && devs[3].count() != 0 }
	for i, end := 0, time.Now().Add(time.Minute); i < 150 || !mirrored() && time.Now().Before(end); i++ {
		var l []MirrorConfig
		for k := range i % 4 {
			l = append(l, MirrorConfig{Name: fmt.Sprint("m", k), All: k == 0, DstPorts: []string{"p0"}, OutPort: fmt.Sprint("p", 2+(i+k)%2), SnapLen: k * 20})
		}
		if i%5 == 0 {
			l = append(l, MirrorConfig{Name: "vlan", SrcPorts: []string{"p1"}, OutVLAN: 6})
		}
		if err := b.SetMirrors(l); err != nil {
			t.Fatal(err)
		}
		c := trunk
		c.Police = Policing{Rate: uint32(i%3) * 100}
		if err := ports[i%2].Configure(c); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			checkConservation(t, d)
		}
	}
	close(stop)
	<-ended
	settle(t, devs...)
	d.Synchronize()
	if !mirrored() {
		t.Error("nothing was mirrored within a minute")
	}
}

// What a few packets count is known within seconds, though the thread sleeps again at once and nobody asks it: whichever
// iteration they come in, the thread has something to tell.
func TestCountsOfSleepers(t *testing.T) {
	_, br, th := bare(t)
	flowPair(t, br, th, 64, "udp,actions=dec_ttl,all", "actions=normal")
	for range 3 * watchEvery {
		th.fl.pass.worked = false
		th.fl.pass.due.Store(false)
		th.iterate()
		if !th.fl.pass.due.Load() {
			t.Fatalf("packets of iteration %d are not told", th.round)
		}
	}
}
