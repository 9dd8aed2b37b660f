package xlate

import (
	"os"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/flow"
)

// traceBridges are those that testdata/trace.txt was made with.
func traceBridges(t *testing.T) *testBridge {
	a, b := newBridge("br0", 0, 3), newBridge("br1", 3, 1)
	a.addPort(Port{ID: 7, OF: 7, Name: "pa", Up: true, Peer: b, PeerOF: 8})
	b.addPort(Port{ID: 8, OF: 8, Name: "pb", Up: true, Peer: a, PeerOF: 7})
	a.group(t, "group_id=1,type=all,bucket=output:3,bucket=set_field:02:00:00:00:00:0b->eth_dst,output:2")
	a.add(t,
		"table=0,in_port=1,priority=10,cookie=0x5,tcp,actions=set_field:5->reg0,resubmit(,1),output:2",
		"table=1,reg0=5,actions=mod_dl_dst:02:00:00:00:00:09,push_vlan:0x8100,set_field:4102->vlan_vid,output:3,write_actions(set_field:02:00:00:00:00:0a->eth_src,output:2),goto_table:2",
		"table=2,priority=1,actions=push:NXM_OF_ETH_SRC[],pop:NXM_NX_REG1[],resubmit(,9)",
		"table=0,in_port=1,priority=10,udp,actions=group:1,learn(table=5,hard_timeout=10,NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[],output:NXM_OF_IN_PORT[]),output:7",
		"table=0,in_port=1,priority=10,arp,actions=clone(mod_dl_dst:02:00:00:00:00:09,output:2),check_pkt_larger(100)->NXM_NX_REG0[0],resubmit(,6)",
		"table=6,reg0=1,actions=output:2",
		"table=6,reg0=0,actions=output:3",
		"table=0,in_port=2,ip,actions=dec_ttl,push_mpls:0x8847,output:3",
		"table=0,in_port=1,icmp,actions=output:1,output:9",
	)
	b.add(t, "priority=3,actions=strip_vlan,output:1")
	return a
}

// TestTrace compares accounts with testdata/trace.txt. The flows and packets were traced by Open vSwitch 3.1
// too: the steps are the same but for what only we say (why a packet is dropped, which way of
// check_pkt_larger it is).
func TestTrace(t *testing.T) {
	text, err := os.ReadFile("testdata/trace.txt")
	if err != nil {
		t.Fatal(err)
	}
	b := traceBridges(t)
	x := New()
	var got strings.Builder
	for _, part := range strings.Split(string(text), "### ")[1:] {
		packet, _, _ := strings.Cut(part, "\n")
		var m flow.Match
		if err := m.Parse(packet, nil); err != nil {
			t.Fatal(err)
		}
		tr := &Trace{}
		x.Run(&Input{Bridge: b, Key: m.Key, Trace: tr})
		got.WriteString("### " + packet + "\n" + tr.String())
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("testdata/trace.txt", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	g, w := strings.Split(got.String(), "\n"), strings.Split(string(text), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("line %d:\n%s\nwant\n%s", i+1, g[i], w[i])
		}
	}
	if len(g) != len(w) {
		t.Errorf("%d lines, want %d", len(g), len(w))
	}
}
