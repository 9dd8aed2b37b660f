package datapath

import (
	"fmt"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// got waits until the devices' frames are through and says how many each port sent.
func got(t testing.TB, d *Datapath, devs ...*fake) string {
	t.Helper()
	settle(t, devs...)
	d.Synchronize()
	s := ""
	for _, x := range devs {
		s += fmt.Sprint(len(x.sent()), " ")
	}
	return s
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// The three ways to decide.
var ways = []FlowConfig{{}, {NoWords: true}, {NoWords: true, NoFixed: true}}

// A flow lives while packets hit it, whoever counts them, and what comes after it is in force
// at once.
func TestIdleTimeout(t *testing.T) {
	for _, c := range ways {
		for _, rule := range []string{"priority=5,idle_timeout=5,actions=NORMAL", "priority=5,idle_timeout=5,in_port=1,actions=2,3"} {
			d, b := newSwitch(t)
			if err := d.SetFlowConfig(c); err != nil {
				t.Fatal(err)
			}
			_, d1 := plug(t, b, "p1", trunk)
			_, d2 := plug(t, b, "p2", trunk)
			_, d3 := plug(t, b, "p3", trunk)
			delFlows(t, b, "")
			addFlows(t, b, rule)
			for range 4 {
				d1.send(udp(9, 1, 1, 2))
				want(t, rule, got(t, d, d1, d2, d3), "0 1 1 ")
				d.Warp(3000)
			}
			if n := len(b.Tables().Flows(nil)); n != 1 {
				t.Errorf("%+v: %s: %d flows while packets came", c, rule, n)
			}
			d.SyncFlowStats() // else what came before the jump may be taken for new
			d.Warp(6000)
			if n := len(b.Tables().Flows(nil)); n != 0 {
				t.Errorf("%+v: %s: %d flows without packets", c, rule, n)
			}
			d1.send(udp(9, 1, 1, 2))
			want(t, rule, got(t, d, d1, d2, d3), "0 0 0 ")
		}
	}
}

func TestMegaflowsAge(t *testing.T) {
	d, b := newSwitch(t)
	_, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	addFlows(t, b, "priority=9,udp,tp_dst=5,actions=drop")
	for i := range 500 {
		d1.send(udp(9, 1, i, 80+i))
	}
	want(t, "flows", got(t, d, d1, d2), "0 500 ")
	if n := d.CacheStats()[0].Megaflows; n == 0 {
		t.Fatal("no megaflow")
	}
	d.Warp(8000)
	d1.send(udp(9, 1, 1, 80))
	want(t, "one more", got(t, d, d1, d2), "0 1 ")
	d.Warp(4000)
	d.SyncFlowStats()
	if n := len(d.DumpMegaflows()); n != 1 {
		t.Errorf("%d megaflows after 12 s, want the one that was used", n)
	}
	d.PurgeMegaflows()
	if n := len(d.DumpMegaflows()); n != 0 {
		t.Errorf("%d megaflows after a purge", n)
	}
}

// Hosts that appear, move and age are followed in megaflows as they are without.
func TestMegaflowsFollowMACs(t *testing.T) {
	d, b := newSwitch(t)
	_, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	_, d3 := plug(t, b, "p3", trunk)
	addFlows(t, b, "priority=9,udp,tp_dst=5,actions=drop")
	ask := func(what, w string) {
		t.Helper()
		d1.send(udp(2, 1, 1, 80))
		want(t, what, got(t, d, d1, d2, d3), w)
	}
	ask("not known", "0 1 1 ")
	ask("not known", "0 1 1 ")
	d2.send(udp(1, 2, 1, 80))
	want(t, "answer", got(t, d, d1, d2, d3), "1 0 0 ")
	ask("known", "0 1 0 ")
	d3.send(udp(1, 2, 1, 80))
	want(t, "answer", got(t, d, d1, d2, d3), "1 0 0 ")
	ask("moved", "0 0 1 ")
	d2.send(udp(1, 2, 1, 80))
	want(t, "answer", got(t, d, d1, d2, d3), "1 0 0 ")
	eventually(t, "moved back", func() bool {
		d1.send(udp(2, 1, 1, 80))
		return got(t, d, d1, d2, d3) == "0 1 0 "
	})
	// Packets keep the address fresh.
	for range 5 {
		d2.send(udp(1, 2, 1, 80))
		want(t, "answer", got(t, d, d1, d2, d3), "1 0 0 ")
		d.Warp(100_000)
		d1.send(udp(3, 1, 1, 80))
		got(t, d, d1, d2, d3)
	}
	ask("fresh", "0 1 0 ")
	d.Warp(400_000)
	ask("aged", "0 1 1 ")
}

// A port that goes takes nothing of what comes after it with the same number.
func TestPortNumbersComeAgain(t *testing.T) {
	for _, c := range ways {
		d, b := newSwitch(t)
		if err := d.SetFlowConfig(c); err != nil {
			t.Fatal(err)
		}
		_, d1 := plug(t, b, "p1", trunk)
		p2, d2 := plug(t, b, "p2", trunk)
		delFlows(t, b, "")
		addFlows(t, b, "in_port=1,actions=2")
		for i := range 100 {
			d1.send(udp(2, 1, i, 80))
		}
		want(t, "before", got(t, d, d1, d2), "0 100 ")
		p2.Detach()
		p2.Remove()
		c3 := trunk
		c3.OFPort = 3
		_, d3 := plug(t, b, "p3", c3)
		for i := range 100 {
			d1.send(udp(2, 1, i, 80))
		}
		want(t, "after", got(t, d, d1, d3), "0 0 ")
	}
}

func TestLearnedFlows(t *testing.T) {
	d, b := newSwitch(t)
	_, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	_, d3 := plug(t, b, "p3", trunk)
	delFlows(t, b, "")
	addFlows(t, b,
		"table=0,actions=learn(table=1,idle_timeout=10,NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[],output:NXM_OF_IN_PORT[]),resubmit(,1)",
		"table=1,priority=0,actions=flood")
	d1.send(udp(2, 1, 1, 80))
	want(t, "not known", got(t, d, d1, d2, d3), "0 1 1 ")
	d2.send(udp(1, 2, 1, 80))
	want(t, "answer", got(t, d, d1, d2, d3), "1 0 0 ")
	d1.send(udp(2, 1, 1, 80))
	want(t, "known", got(t, d, d1, d2, d3), "0 1 0 ")
	for range 6 { // the learned flow of host 2 is kept by what host 2 sends, though all of it hits a megaflow
		d.Warp(4000)
		d2.send(udp(9, 2, 1, 80))
		got(t, d, d1, d2, d3)
	}
	d.Warp(1500)
	d1.send(udp(2, 1, 1, 80))
	want(t, "kept", got(t, d, d1, d2, d3), "0 1 0 ")
}

func TestPacketOut(t *testing.T) {
	_, b := newSwitch(t)
	_, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	acts, err := ofp.ParseActions("mod_vlan_vid:5,2,strip_vlan,1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.PacketOut(udp(2, 1, 1, 80), ofp.PortController, acts); err != nil {
		t.Fatal(err)
	}
	eventually(t, "sent", func() bool { return d1.count() == 1 && d2.count() == 1 })
	if f := d2.sent()[0]; len(f) != 64 || f[12] != 0x81 || f[15] != 5 {
		t.Errorf("%x", f)
	}
	if f := d1.sent()[0]; len(f) != 60 {
		t.Errorf("%x", f)
	}
	want(t, "flows", counts(b), "0:0/0 ")
}

func TestOpenFlowPortConfig(t *testing.T) {
	for _, c := range ways {
		d, b := newSwitch(t)
		if err := d.SetFlowConfig(c); err != nil {
			t.Fatal(err)
		}
		p1, d1 := plug(t, b, "p1", trunk)
		p2, d2 := plug(t, b, "p2", trunk)
		_, d3 := plug(t, b, "p3", trunk)
		set := func(p *Port, c OFConfig) {
			t.Helper()
			if err := p.SetOpenFlowConfig(c); err != nil {
				t.Fatal(err)
			}
		}
		flood := func(what, w string) {
			t.Helper()
			d1.send(udp(9, 1, 1, 80))
			want(t, what, got(t, d, d1, d2, d3), w)
		}
		flood("as is", "0 1 1 ")
		set(p2, OFConfig{NoFlood: true})
		flood("no-flood", "0 0 1 ")
		set(p2, OFConfig{NoFwd: true})
		flood("no-forward", "0 0 1 ")
		set(p2, OFConfig{Down: true})
		flood("down", "0 0 1 ")
		set(p2, OFConfig{})
		set(p1, OFConfig{NoRecv: true})
		flood("no-receive", "0 0 0 ")
		if n := p1.Stats().RxDrops[packet.PortNoRecv]; n != 1 {
			t.Errorf("%d counted as port_no_receive", n)
		}
		set(p1, OFConfig{})
		flood("as it was", "0 1 1 ")
	}
}

// Rules by the thousand that come and go while packets flow: none is lost, and in the end all is as
// the tables say.
func TestRulesChangeUnderLoad(t *testing.T) {
	d, b := newSwitch(t)
	_, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	delFlows(t, b, "")
	addFlows(t, b, "priority=1,actions=2")
	sent := 0
	for round := range 20 {
		var l []string
		for i := range 300 {
			l = append(l, fmt.Sprintf("priority=%d,udp,tp_dst=%d,tp_src=%d,actions=2", 10+i%50, 1000+i, round))
		}
		addFlows(t, b, l...)
		for i := range 200 {
			d1.send(udp(2, 1, round, 1000+i))
			sent++
		}
		if round%3 == 2 {
			delFlows(t, b, "udp")
		}
	}
	settle(t, d1)
	d.Synchronize()
	if n := d2.count(); n != sent {
		t.Errorf("%d of %d arrived", n, sent)
	}
	start := time.Now()
	d.SyncFlowStats()
	if e := time.Since(start); e > time.Second {
		t.Errorf("a pass took %v", e)
	}
	checkMegaflows(t, d, "in the end")
}

// A group's bucket is alive while the port it watches has a carrier; what was decided before follows.
func TestGroupsFollowLinks(t *testing.T) {
	for _, c := range ways {
		d, b := newSwitch(t)
		if err := d.SetFlowConfig(c); err != nil {
			t.Fatal(err)
		}
		_, d1 := plug(t, b, "p1", trunk)
		_, d2 := plug(t, b, "p2", trunk)
		_, d3 := plug(t, b, "p3", trunk)
		g, err := ofp.ParseGroup("group_id=7,type=fast_failover,bucket=watch_port:2,actions=2,bucket=watch_port:3,actions=3", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Tables().ApplyGroup(rules.GroupAdd, &g, 0, d.Now()); err != nil {
			t.Fatal(err)
		}
		delFlows(t, b, "")
		addFlows(t, b, "in_port=1,actions=group:7")
		for _, link := range []bool{true, false, true} {
			d2.mu.Lock()
			d2.info.Link = link
			d2.mu.Unlock()
			d.Changed(d2)
			d1.send(udp(2, 1, 1, 80))
			w := "0 1 0 "
			if !link {
				w = "0 0 1 "
			}
			want(t, fmt.Sprint("link ", link), got(t, d, d1, d2, d3), w)
		}
		// A group that is changed is another one at once.
		g, err = ofp.ParseGroup("group_id=7,type=all,bucket=actions=2,bucket=actions=3", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Tables().ApplyGroup(rules.GroupModify, &g, 0, d.Now()); err != nil {
			t.Fatal(err)
		}
		d1.send(udp(2, 1, 1, 80))
		want(t, "all", got(t, d, d1, d2, d3), "0 1 1 ")
	}
}
