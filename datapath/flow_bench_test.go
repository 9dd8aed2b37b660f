package datapath

import (
	"fmt"
	"testing"

	"github.com/gvswitch/gvswitch/packet"
)

// flowPair is pair with UDP frames of n different flows and the bridge's own flows.
func flowPair(t testing.TB, b *Bridge, th *thread, n int, rules ...string) (*benchDev, *benchDev) {
	var devs [2]*benchDev
	for i := range devs {
		d := &benchDev{burst: packet.MaxBurst, mtu: 1500}
		for k := range n {
			f := udp(1-i, i, 1000+k%40000, k/40000*7+80)
			f[28], f[29] = byte(k>>8), byte(k)
			d.frames = append(d.frames, append(f, 0, 0, 0, 0))
		}
		devs[i] = d
		plugDev(t, b, fmt.Sprint("p", i), trunk, d)
	}
	delFlows(t, b, "")
	addFlows(t, b, rules...)
	for range 2*n/packet.MaxBurst + 50 {
		th.iterate()
	}
	return devs[0], devs[1]
}

// acl are rules over 5-tuples with so many masks, behind which everything crosses.
func acl(rules, masks int) []string {
	l := []string{"priority=1,in_port=1,actions=2", "priority=1,in_port=2,actions=1"}
	for i := range rules {
		m := i % masks
		l = append(l, fmt.Sprintf("priority=%d,udp,nw_src=172.16.%d.%d/%d,tp_dst=%d,actions=drop", 10+i, i/256, i%256, 32-m%16, 1+m/16*1000+i))
	}
	return l
}

func BenchmarkFlows(b *testing.B) {
	cross := []string{"in_port=1,actions=2", "in_port=2,actions=1"}
	for _, c := range []struct {
		name  string
		flows int
		rules []string
		conf  FlowConfig
	}{
		{"fixed", 1024, cross, FlowConfig{}},
		{"cross-megaflow", 1024, cross, FlowConfig{NoFixed: true}},
		{"normal-megaflow", 1024, []string{"actions=NORMAL"}, FlowConfig{NoWords: true}},
		{"ports", 1024, append([]string{"priority=9,udp,tp_src=1,actions=drop"}, cross...), FlowConfig{}},
		{"acl=1000/masks=20/flows=10000", 10000, acl(1000, 20), FlowConfig{}},
		// Each flow has a megaflow of its own.
		{"megaflows=100000", 100_000, []string{"in_port=1,actions=multipath(symmetric_l4,1,modulo_n,1,0,reg0[0..15]),2", "in_port=2,actions=multipath(symmetric_l4,1,modulo_n,1,0,reg0[0..15]),1"}, FlowConfig{}},
		{"megaflows=1000000", 1_000_000, []string{"in_port=1,actions=multipath(symmetric_l4,1,modulo_n,1,0,reg0[0..15]),2", "in_port=2,actions=multipath(symmetric_l4,1,modulo_n,1,0,reg0[0..15]),1"}, FlowConfig{Limit: 3_000_000, MissRate: 1 << 30}},
		{"edit", 1024, []string{"in_port=1,ip,actions=dec_ttl,mod_dl_dst:02:00:00:00:00:09,2", "in_port=2,ip,actions=dec_ttl,mod_dl_dst:02:00:00:00:00:09,1"}, FlowConfig{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			d, br, th := bare(b)
			if err := d.SetFlowConfig(c.conf); err != nil {
				b.Fatal(err)
			}
			flowPair(b, br, th, c.flows, c.rules...)
			report(b, th.iterate)
		})
	}
}

// Packets that hit cost no memory, nor do those that miss when the thread has met as much before.
func TestFlowsAllocateNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules []string
	}{
		{"fixed", []string{"in_port=1,actions=2", "in_port=2,actions=1"}},
		{"edit", []string{"ip,actions=mod_nw_src:1.2.3.4,all"}},
		{"megaflow", acl(100, 10)},
		{"normal", []string{"priority=5,udp,tp_src=1100,actions=drop", "priority=1,actions=normal"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, br, th := bare(t)
			flowPair(t, br, th, 1024, c.rules...)
			if n := testing.AllocsPerRun(200, th.iterate); n != 0 {
				t.Errorf("%v allocations an iteration", n)
			}
			// Everything is looked up again, in a new second, after a purge.
			d.PurgeMegaflows()
			d.clock.warp.Add(2000)
			if n := testing.AllocsPerRun(100, th.iterate); n != 0 {
				t.Errorf("%v allocations an iteration after a purge", n)
			}
		})
	}
}
