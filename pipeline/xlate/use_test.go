package xlate

import (
	"fmt"
	"testing"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// TestSelect spreads flows over the buckets in proportion to their weights, and moves only those of
// a bucket that dies.
func TestSelect(t *testing.T) {
	b := newBridge("br0", 0, 4)
	b.group(t, "group_id=1,type=select,bucket=weight:1,watch_port:2,actions=output:2,bucket=weight:3,watch_port:3,actions=output:3")
	b.add(t, "actions=group:1")
	x := New()
	const n = 4000
	choose := func() (out [n]uint32, count [5]int) {
		k := key(t, tcpPacket)
		for i := range n {
			k[flow.WordTP] = uint64(1000+i)<<48 | 80<<32
			r := x.Run(&Input{Bridge: b, Key: k})
			out[i] = r.Actions[0].Port
			count[out[i]]++
			if r.Mask[flow.WordTP]>>32 != 0xffffffff {
				t.Fatal("the ports chose and must be in the mask")
			}
		}
		return out, count
	}
	before, count := choose()
	if count[2] < n/4-n/20 || count[2] > n/4+n/20 || count[2]+count[3] != n {
		t.Errorf("1 to 3 is asked for, got %v", count)
	}
	b.ports[1].Up = false
	after, _ := choose()
	for i := range after {
		if after[i] != 3 {
			t.Fatal("port 2 is dead")
		}
	}
	b.ports[1].Up, b.ports[2].Up = true, false
	after, _ = choose()
	for i := range after {
		if after[i] != 2 || before[i] == 2 && after[i] != 2 {
			t.Fatal("port 3 is dead")
		}
	}
	b.ports[1].Up = false
	if r := x.Run(&Input{Bridge: b, Key: key(t, tcpPacket)}); r.Why != packet.NoBucket {
		t.Error("nobody is alive:", r.Why)
	}
}

func TestFastFailover(t *testing.T) {
	b := newBridge("br0", 0, 4)
	b.group(t, "group_id=2,type=ff,bucket=watch_port:4,actions=output:4")
	b.group(t, "group_id=1,type=ff,bucket=watch_port:2,actions=output:2,bucket=watch_group:2,actions=output:4,bucket=watch_port:3,actions=output:3")
	b.add(t, "actions=group:1")
	x := New()
	in := &Input{Bridge: b, Key: key(t, tcpPacket)}
	for _, step := range []struct {
		down uint32
		want string
	}{{0, "2"}, {2, "4"}, {4, "3"}} {
		if step.down != 0 {
			b.ports[step.down-1].Up = false
		}
		r := x.Run(in)
		if list := string(odp.AppendActions(nil, r.Actions, &in.Key, nil)); list != step.want {
			t.Errorf("after port %d: %s, want %s", step.down, list, step.want)
		}
		if want := rules.GroupTag(1) | rules.GroupTag(2); r.Tags&want != want {
			t.Error("the watched group counts too")
		}
	}
}

// TestLearn has a packet teach the way back.
func TestLearn(t *testing.T) {
	b := newBridge("br0", 0, 4)
	b.add(t, "table=0,priority=1,actions=learn(table=1,priority=7,cookie=0x9,idle_timeout=60,NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[],load:NXM_OF_IN_PORT[]->NXM_NX_REG0[0..15]),resubmit(,1),output:NXM_NX_REG0[0..15]")
	x := New()
	there := key(t, tcpPacket)
	in := &Input{Bridge: b, Key: there}
	if r := x.Run(in); !r.Learns || len(b.tables.Flows(nil)) != 1 {
		t.Fatal("without effects nothing is learned")
	}
	in.Effects = true
	r := x.Run(in)
	if !r.Learns || r.Mask[flow.WordSrc]>>16 != 0xffffffffffff {
		t.Fatal("what is learned from is looked at")
	}
	var got string
	for _, f := range b.tables.Flows(nil) {
		if f.Table == 1 {
			fl := f.Flow()
			got = string(fl.Append(nil, nil))
		}
	}
	if want := " cookie=0x9, table=1, idle_timeout=60, priority=7,dl_dst=02:00:00:00:00:01 actions=load:0x1->NXM_NX_REG0[0..15]"; got != want {
		t.Errorf("learned\n%s, want\n%s", got, want)
	}
	back := key(t, tcpPacket)
	back.SetInPort(3)
	back[flow.WordDst], back[flow.WordSrc] = there[flow.WordSrc]&bitsAddr, there[flow.WordDst]|there[flow.WordSrc]&0xffff
	if r := x.Run(&Input{Bridge: b, Key: back, Effects: true}); len(r.Actions) != 1 || r.Actions[0].Port != 1 {
		t.Error("the answer must find its way:", r.Actions)
	}
}

func TestBundleAndMultipath(t *testing.T) {
	b := newBridge("br0", 0, 4)
	b.add(t,
		"priority=2,tcp,actions=bundle(symmetric_l4,0,hrw,ofport,members:2,3,4)",
		"priority=2,udp,actions=bundle(eth_src,0,active_backup,ofport,members:3,4)",
		"priority=1,actions=multipath(eth_src,50,modulo_n,3,0,NXM_NX_REG0[0..7]),resubmit(,1)",
		"table=1,reg0=0,actions=output:2", "table=1,reg0=1,actions=output:3", "table=1,reg0=2,actions=output:4",
	)
	x := New()
	for _, text := range []string{tcpPacket, "in_port=1,dl_type=0x1234"} {
		seen := map[uint32]int{}
		for i := range 300 {
			k := key(t, text)
			k[flow.WordSrc] += uint64(i) << 16
			r := x.Run(&Input{Bridge: b, Key: k})
			if r.Actions[0].Op != odp.Output {
				t.Fatal(r.Actions)
			}
			seen[r.Actions[0].Port]++
		}
		if seen[2] < 60 || seen[3] < 60 || seen[4] < 60 {
			t.Error(text, seen)
		}
	}
	udp := key(t, "in_port=1,udp,nw_ttl=64")
	if r := x.Run(&Input{Bridge: b, Key: udp}); r.Actions[0].Port != 3 {
		t.Error("the first that is up:", r.Actions)
	}
	b.ports[2].Up = false
	if r := x.Run(&Input{Bridge: b, Key: udp}); r.Actions[0].Port != 4 {
		t.Error("the first that is up:", r.Actions)
	}
}

// typical are pipelines to measure.
func typical(t testing.TB) map[string]*testBridge {
	cross, acl, deep := newBridge("br0", 0, 4), newBridge("br0", 0, 4), newBridge("br0", 0, 4)
	cross.add(t, "in_port=1,actions=output:2", "in_port=2,actions=output:1")
	for i := range 100 {
		acl.add(t, fmt.Sprintf("priority=%d,tcp,nw_src=10.%d.0.0/16,tp_dst=%d,actions=drop", 100+i, i+1, i))
	}
	acl.add(t, "priority=1,actions=NORMAL")
	for i := range 8 {
		deep.add(t, fmt.Sprintf("table=%d,ip,actions=load:%d->NXM_NX_REG%d[],resubmit(,%d)", i, i, i, i+1))
	}
	deep.add(t, "table=8,ip,actions=dec_ttl,mod_dl_dst:02:00:00:00:00:09,clone(mod_vlan_vid:5,output:3),output:2")
	return map[string]*testBridge{"cross": cross, "acl": acl, "deep": deep}
}

// TestNoAllocation runs all that is done for packets.
func TestNoAllocation(t *testing.T) {
	bridges := typical(t)
	a := newBridge("br0", 0, 4)
	a.group(t, "group_id=1,type=select,bucket=weight:1,actions=output:2,bucket=weight:3,actions=push_vlan:0x8100,output:3")
	a.group(t, "group_id=2,type=all,bucket=output:2,bucket=mod_dl_src:02:00:00:00:00:01,output:3")
	p := newBridge("br1", 10, 3)
	a.addPort(Port{ID: 7, OF: 7, Up: true, Peer: p, PeerOF: 8})
	p.addPort(Port{ID: 18, OF: 8, Up: true, Peer: a, PeerOF: 7})
	p.add(t, "actions=NORMAL")
	a.add(t, "tcp,actions=group:1,group:2,FLOOD,output:7,push:NXM_OF_ETH_SRC[],pop:NXM_OF_ETH_DST[],write_actions(output:2,mod_dl_src:02:00:00:00:00:03),goto_table:1",
		"table=1,tcp,actions=check_pkt_larger(1000)->NXM_NX_REG0[0],move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],mod_tp_dst:9,dec_ttl,push_mpls:0x8847,output:2",
		"priority=1,actions=multipath(eth_src,50,modulo_n,3,0,NXM_NX_REG0[0..7]),bundle(nw_src,0,hrw,ofport,members:2,3)")
	bridges["all"] = a
	for name, b := range bridges {
		x := New()
		in := &Input{Bridge: b, Key: key(t, tcpPacket)}
		if n := testing.AllocsPerRun(200, func() { x.Run(in) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		if x.res.Why != packet.DropNone {
			t.Error(name, x.res.Why)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	for name, br := range typical(b) {
		b.Run(name, func(b *testing.B) {
			x := New()
			in := &Input{Bridge: br, Key: key(b, tcpPacket)}
			b.ReportAllocs()
			for b.Loop() {
				x.Run(in)
			}
		})
	}
}
