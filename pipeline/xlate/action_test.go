package xlate

import (
	"fmt"
	"testing"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

const (
	tcpPacket  = "in_port=1,tcp,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_tos=0,nw_ecn=0,nw_ttl=64,tp_src=1000,tp_dst=80,tcp_flags=syn"
	vlanPacket = "in_port=1,tcp,dl_vlan=5,dl_vlan_pcp=3,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_tos=0,nw_ecn=0,nw_ttl=64,tp_src=1000,tp_dst=80,tcp_flags=syn"
	icmpPacket = "in_port=1,icmp,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_tos=0,nw_ecn=0,nw_ttl=1,icmp_type=8,icmp_code=0"
	arpPacket  = "in_port=1,arp,dl_src=02:00:00:00:00:01,dl_dst=ff:ff:ff:ff:ff:ff,arp_spa=10.0.0.1,arp_tpa=10.0.0.2,arp_op=1,arp_sha=02:00:00:00:00:01,arp_tha=00:00:00:00:00:00"
)

// result is what a translation is compared by: the list as dpctl prints it, the mask as a match, and why it
// drops.
func result(x *Xlate, in *Input) (list, mask, why string) {
	r := x.Run(in)
	list = string(odp.AppendActions(nil, r.Actions, &in.Key, nil))
	return list, maskText(&in.Key, &r.Mask), r.Why.String()
}

func TestActions(t *testing.T) {
	tests := []struct {
		name, packet string
		flows        []string
		list, mask   string
		why          packet.DropReason
	}{
		{
			name: "a table without rules drops", packet: tcpPacket,
			list: "drop", mask: "", why: packet.NoRule,
		}, {
			name: "drop", packet: tcpPacket, flows: []string{"actions=drop"},
			list: "drop", mask: "", why: packet.RuleDrop,
		}, {
			name: "output looks at in_port, for nothing goes back", packet: tcpPacket, flows: []string{"actions=output:1,output:2"},
			list: "2", mask: "in_port=1",
		}, {
			name: "output to in_port only", packet: tcpPacket, flows: []string{"actions=output:1"},
			list: "drop", mask: "in_port=1", why: packet.SamePort,
		}, {
			name: "IN_PORT", packet: tcpPacket, flows: []string{"actions=in_port"},
			list: "1", mask: "in_port=1",
		}, {
			name: "a port that is not there", packet: tcpPacket, flows: []string{"actions=output:77"},
			list: "drop", mask: "in_port=1", why: packet.NoSuchPort,
		}, {
			name: "max_len", packet: tcpPacket, flows: []string{"actions=output(port=2,max_len=100),output:3"},
			list: "trunc(100),2,3", mask: "in_port=1",
		}, {
			name: "FLOOD leaves out no-flood and in_port", packet: tcpPacket, flows: []string{"actions=FLOOD"},
			list: "2,4", mask: "in_port=1",
		}, {
			name: "ALL", packet: tcpPacket, flows: []string{"actions=ALL"},
			list: "2,3,4", mask: "in_port=1",
		}, {
			name: "NORMAL looks at what the bridge looks at", packet: tcpPacket, flows: []string{"actions=NORMAL"},
			list: "2", mask: "in_port=1,vlan_tci=0x0000/0x1fff,dl_dst=02:00:00:00:00:02",
		}, {
			name: "CONTROLLER", packet: tcpPacket, flows: []string{"actions=CONTROLLER:65535"},
			list: "drop", mask: "", why: packet.ToController,
		}, {
			name: "sets are done before an output, once", packet: tcpPacket,
			flows: []string{"actions=mod_dl_dst:02:00:00:00:00:09,output:2,output:3"},
			list:  "set(eth(dst=02:00:00:00:00:09)),2,3", mask: "in_port=1,dl_dst=02:00:00:00:00:02",
		}, {
			name: "a set without an output is none", packet: tcpPacket, flows: []string{"actions=output:2,mod_dl_dst:02:00:00:00:00:09"},
			list: "2", mask: "in_port=1,dl_dst=02:00:00:00:00:02",
		}, {
			name: "a set of what is there is none", packet: tcpPacket, flows: []string{"actions=mod_dl_dst:02:00:00:00:00:02,output:2"},
			list: "2", mask: "in_port=1,dl_dst=02:00:00:00:00:02",
		}, {
			name: "a set with a mask looks at no more", packet: tcpPacket, flows: []string{"ip,actions=set_field:10.9.0.0/255.255.0.0->nw_dst,output:2"},
			list: "set(ipv4(dst=10.9.0.0/255.255.0.0)),2", mask: "ip,in_port=1,nw_dst=10.0.0.0/16",
		}, {
			name: "ports and TTL", packet: tcpPacket, flows: []string{"tcp,actions=mod_tp_dst:8080,dec_ttl,output:2"},
			list: "set(ipv4(ttl=63)),set(tcp(dst=8080)),2", mask: "tcp,in_port=1,nw_ttl=64,nw_frag=no,tp_dst=80",
		}, {
			name: "mod_tp_dst means the port of any protocol", packet: "in_port=1,udp,nw_ttl=64,tp_src=1,tp_dst=2",
			flows: []string{"actions=mod_tp_dst:9,output:2"},
			list:  "set(udp(dst=9)),2", mask: "udp,in_port=1,nw_frag=no,tp_dst=2",
		}, {
			name: "mod_tp_dst of what has no ports", packet: arpPacket, flows: []string{"actions=mod_tp_dst:9,output:2"},
			list: "2", mask: "arp,in_port=1",
		}, {
			name: "protocol 0 is as good as any (B77)", packet: "in_port=1,ip,nw_proto=0,nw_ttl=64,nw_dst=10.0.0.2",
			flows: []string{"ip,actions=dec_ttl,mod_nw_dst:10.0.0.9,output:2"},
			list:  "set(ipv4(dst=10.0.0.9,ttl=63)),2", mask: "ip,in_port=1,nw_dst=10.0.0.2,nw_ttl=64",
		}, {
			name: "dec_ttl of 1 ends the list, not its callers", packet: icmpPacket,
			flows: []string{"actions=resubmit(,1),output:3", "table=1,actions=dec_ttl,output:2"},
			list:  "3", mask: "ip,in_port=1,nw_ttl=1",
		}, {
			name: "dec_ttl of 1", packet: icmpPacket, flows: []string{"actions=dec_ttl,output:2"},
			list: "drop", mask: "ip,nw_ttl=1", why: packet.TTLExpired,
		}, {
			name: "dec_ttl of what is not IP", packet: arpPacket, flows: []string{"actions=dec_ttl,output:2"},
			list: "2", mask: "arp,in_port=1",
		}, {
			name: "ARP", packet: arpPacket, flows: []string{"arp,actions=load:2->NXM_OF_ARP_OP[],move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],in_port"},
			list: "set(arp(op=2,tha=02:00:00:00:00:01)),1", mask: "arp,in_port=1,arp_op=1,arp_sha=02:00:00:00:00:01,arp_tha=00:00:00:00:00:00",
		}, {
			name: "push_vlan", packet: tcpPacket, flows: []string{"actions=push_vlan:0x8100,set_field:4102->vlan_vid,output:2"},
			list: "push_vlan(vid=6,pcp=0),2", mask: "in_port=1,vlan_tci=0x0000/0x1fff",
		}, {
			name: "mod_vlan_vid of an untagged packet pushes", packet: tcpPacket, flows: []string{"actions=mod_vlan_vid:6,output:2"},
			list: "push_vlan(vid=6,pcp=0),2", mask: "in_port=1,vlan_tci=0x0000/0x1fff",
		}, {
			name: "a VLAN translated", packet: vlanPacket, flows: []string{"actions=mod_vlan_vid:6,output:2"},
			list: "pop_vlan,push_vlan(vid=6,pcp=3),2", mask: "in_port=1,dl_vlan=5,dl_vlan_pcp=3",
		}, {
			name: "two tags", packet: vlanPacket, flows: []string{"dl_vlan=5,actions=push_vlan:0x88a8,mod_vlan_vid:7,output:2,pop_vlan,output:3,pop_vlan,output:4"},
			list: "push_vlan(tpid=0x88a8,vid=7,pcp=0),2,pop_vlan,3,pop_vlan,4", mask: "in_port=1,dl_vlan=5,dl_vlan_pcp=3",
		}, {
			name: "MPLS", packet: tcpPacket, flows: []string{"ip,actions=push_mpls:0x8847,set_field:7->mpls_label,output:2,pop_mpls:0x0800,dec_ttl,output:3"},
			list: "push_mpls(label=7,tc=0,ttl=64,bos=1,eth_type=0x8847),2,pop_mpls(eth_type=0x800),set(ipv4(ttl=63)),3", mask: "ip,in_port=1,nw_tos=0,nw_ttl=64",
		}, {
			name: "queues", packet: tcpPacket, flows: []string{"actions=set_queue:5,output:2,pop_queue,output:3,enqueue:4:1"},
			list: "set(skb_priority(0x5)),2,set(skb_priority(0)),3,set(skb_priority(0x1)),4", mask: "in_port=1",
		}, {
			name: "resubmit with another in_port", packet: tcpPacket,
			flows: []string{"table=0,actions=resubmit(3,1)", "table=1,in_port=3,actions=output:1,output:2"},
			list:  "2", mask: "in_port=1",
		}, {
			name: "registers carry bits", packet: tcpPacket,
			flows: []string{"tcp,actions=move:NXM_OF_TCP_DST[0..7]->NXM_NX_REG0[0..7],resubmit(,1)", "table=1,reg0=80,actions=output:NXM_NX_REG1[],output:2"},
			list:  "2", mask: "tcp,in_port=1,nw_frag=no,tp_dst=0x50/0xff",
		}, {
			name: "goto_table comes last", packet: tcpPacket, flows: []string{"actions=output:2,goto_table:2", "table=2,actions=output:3"},
			list: "2,3", mask: "in_port=1",
		}, {
			name: "exit ends all, and the action set is not done", packet: tcpPacket,
			flows: []string{"actions=resubmit(,1),output:4", "table=1,actions=write_actions(output:3),goto_table:2", "table=2,actions=output:2,exit"},
			list:  "2", mask: "in_port=1",
		}, {
			name: "the action set is done in its order", packet: tcpPacket,
			flows: []string{"actions=write_actions(output:2,push_vlan:0x8100,mod_dl_src:02:00:00:00:00:0b),goto_table:1", "table=1,actions=write_actions(output:3)"},
			list:  "set(eth(src=02:00:00:00:00:0b)),push_vlan(vid=0,pcp=0),3", mask: "in_port=1,vlan_tci=0x0000/0x1000,dl_src=02:00:00:00:00:01",
		}, {
			name: "clear_actions", packet: tcpPacket, flows: []string{"actions=write_actions(output:2),goto_table:1", "table=1,actions=clear_actions"},
			list: "drop", mask: "", why: packet.RuleDrop,
		}, {
			name: "clone leaves the packet as it was", packet: tcpPacket, flows: []string{"actions=clone(mod_dl_dst:02:00:00:00:00:09,output:2),output:3"},
			list: "set(eth(dst=02:00:00:00:00:09)),2,set(eth(dst=02:00:00:00:00:02)),3", mask: "in_port=1,dl_dst=02:00:00:00:00:02",
		}, {
			name: "check_pkt_larger", packet: tcpPacket,
			flows: []string{"actions=check_pkt_larger(1400)->NXM_NX_REG0[0],resubmit(,1),output:4", "table=1,reg0=1/1,actions=output:2", "table=1,reg0=0/1,actions=output:3"},
			list:  "check_pkt_len(size=1400,gt(2,4),le(3,4))", mask: "in_port=1",
		}, {
			name: "check_pkt_larger, one way drops", packet: tcpPacket,
			flows: []string{"actions=check_pkt_larger(1400)->NXM_NX_REG0[0],resubmit(,1)", "table=1,reg0=1/1,actions=output:2"},
			list:  "check_pkt_len(size=1400,gt(2),le(drop))", mask: "in_port=1",
		}, {
			name: "ct is not there yet", packet: tcpPacket, flows: []string{"ip,actions=ct(table=1)"},
			list: "drop", mask: "ip", why: packet.CTUnsupported,
		}, {
			name: "no output from no-forward", packet: tcpPacket, flows: []string{"actions=output:5"},
			list: "drop", mask: "in_port=1", why: packet.PortNoForward,
		}, {
			name: "no output to what is down", packet: tcpPacket, flows: []string{"actions=output:6"},
			list: "drop", mask: "in_port=1", why: packet.PortDown,
		},
	}
	for i := range tests {
		tt := &tests[i]
		t.Run(tt.name, func(t *testing.T) {
			b := newBridge("br0", 0, 4)
			b.ports[2].NoFlood = true
			b.macs[2<<56|2<<16] = 2
			b.ports = append(b.ports, Port{ID: 5, OF: 5, Up: true, NoFwd: true}, Port{ID: 6, OF: 6})
			b.add(t, tt.flows...)
			list, mask, why := result(New(), &Input{Bridge: b, Key: key(t, tt.packet)})
			if list != tt.list || mask != tt.mask || tt.why != 0 && why != tt.why.String() {
				t.Errorf("got\n%q %q %s\nwant\n%q %q %s", list, mask, why, tt.list, tt.mask, tt.why)
			}
		})
	}
}

// TestNoReceive drops at a port that receives nothing.
func TestNoReceive(t *testing.T) {
	b := newBridge("br0", 0, 2)
	b.ports[0].NoRecv = true
	b.add(t, "actions=output:2")
	if list, _, why := result(New(), &Input{Bridge: b, Key: key(t, tcpPacket)}); list != "drop" || why != packet.PortNoRecv.String() {
		t.Error(list, why)
	}
}

func TestLimits(t *testing.T) {
	deep := []string{"actions=resubmit(,1),output:2"}
	for i := 1; i < 200; i++ {
		deep = append(deep, fmt.Sprintf("table=%d,actions=resubmit(,%d),output:3", i, i+1))
	}
	deep = append(deep, "table=200,actions=output:4")
	tests := []struct {
		name  string
		flows []string
		why   packet.DropReason
	}{
		{"a loop", []string{"actions=resubmit(,0)"}, packet.TooDeep},
		{"a loop over tables", []string{"actions=resubmit(,1)", "table=1,actions=output:2,resubmit(,0)"}, packet.TooDeep},
		{"a tree", []string{"actions=resubmit(,1),resubmit(,1)", "table=1,actions=resubmit(,0),resubmit(,0),resubmit(,0)"}, packet.TooDeep},
		{"forward is not deep", deep, packet.DropNone},
	}
	wide := []string{"table=12,actions=output:2"}
	for i := range 12 {
		wide = append(wide, fmt.Sprintf("table=%d,actions=resubmit(,%d),resubmit(,%d)", i, i+1, i+1))
	}
	tests = append(tests, struct {
		name  string
		flows []string
		why   packet.DropReason
	}{"4096 lookups", wide, packet.TooManyResubmits})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBridge("br0", 0, 4)
			b.add(t, tt.flows...)
			x := New()
			r := x.Run(&Input{Bridge: b, Key: key(t, tcpPacket)})
			if r.Why != tt.why {
				t.Errorf("got %s, want %s", r.Why, tt.why)
			}
			if tt.why != 0 && (len(r.Actions) != 1 || r.Actions[0].Op != odp.Drop || r.Actions[0].Reason != tt.why) {
				t.Errorf("a failed translation must be a drop: %v", r.Actions)
			}
			// The next one must not suffer from it.
			b2 := newBridge("br1", 0, 2)
			b2.add(t, "actions=output:2")
			if r := x.Run(&Input{Bridge: b2, Key: key(t, tcpPacket)}); r.Why != 0 || len(r.Actions) != 1 {
				t.Error("afterwards:", r.Why, r.Actions)
			}
		})
	}
}

// TestPatchLoop sends a flood around between two bridges that are joined twice: it must end.
func TestPatchLoop(t *testing.T) {
	a, b := newBridge("br0", 0, 2), newBridge("br1", 10, 2)
	for i := range uint32(2) {
		a.addPort(Port{ID: 5 + i, OF: 5 + i, Up: true, Peer: b, PeerOF: 5 + i})
		b.addPort(Port{ID: 15 + i, OF: 5 + i, Up: true, Peer: a, PeerOF: 5 + i})
	}
	a.add(t, "actions=FLOOD")
	b.add(t, "actions=FLOOD")
	x := New()
	r := x.Run(&Input{Bridge: a, Key: key(t, tcpPacket)})
	if r.Why != packet.DropNone || len(r.Actions) > maxActions {
		t.Error(r.Why, len(r.Actions))
	}
	for i, a := range r.Actions {
		if a.Op == odp.Patch && (int(a.Jump) <= i || int(a.Jump) > len(r.Actions)) {
			t.Fatal("scope", i, a)
		}
	}
}

// TestMeterScope has a meter within a clone refuse the packet: only the clone's copy is lost.
func TestMeterScope(t *testing.T) {
	b := newBridge("br0", 0, 4)
	m, err := ofp.ParseMeter("meter=1,kbps,band=type=drop,rate=1000")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.tables.ApplyMeter(rules.MeterAdd, &m, 0); err != nil {
		t.Fatal(err)
	}
	b.group(t, "group_id=1,type=all,bucket=output:2,bucket=output:3")
	b.add(t, "actions=clone(mod_vlan_vid:5,resubmit(,1)),output:4", "table=1,actions=meter:1,output:2,mod_dl_src:02:00:00:00:00:07,output:3")
	x := New()
	k := key(t, tcpPacket)
	r := x.Run(&Input{Bridge: b, Key: k})
	for _, refuse := range []bool{false, true} {
		w := newWire(t, r.Actions, &k)
		w.refuse = refuse
		w.run(0, len(r.Actions))
		last := w.out[len(w.out)-1]
		if want := (sent{4, textOf(&k, nil, nil, l3Text(&k))}); last != want || refuse != (len(w.out) == 1) {
			t.Errorf("refused %v: %v\n%v", refuse, w.out, r.Actions)
		}
	}
	if len(r.Meters) != 1 || r.Meters[0].Def.ID != 1 {
		t.Error(r.Meters)
	}
}

// TestTags says what a translation depends on.
func TestTags(t *testing.T) {
	b := newBridge("br0", 0, 4)
	b.group(t, "group_id=3,type=all,bucket=output:2")
	b.add(t, "actions=resubmit(,7),group:3", "table=7,actions=output:3")
	r := New().Run(&Input{Bridge: b, Key: key(t, tcpPacket)})
	if want := uint64(1 | 1<<7 | 1<<(48+3)); r.Tags != want || len(r.Rules) != 2 || len(r.Groups) != 1 || len(r.Buckets) != 1 {
		t.Errorf("%x %x", r.Tags, want)
	}
	if r.Final[flow.WordPort]>>32 != 1 {
		t.Error("final flow")
	}
}
