package odp

import (
	"testing"

	"github.com/gvswitch/gvswitch/flow"
)

type names map[uint32]string

func (n names) PortName(id uint32) string { return n[id] }

// TestMegaflow prints matches as ovs-appctl dpctl/dump-flows does.
func TestMegaflow(t *testing.T) {
	tests := []struct{ match, want string }{
		{"in_port=1", "recirc_id(0),in_port(1)"},
		{"in_port=2,dl_dst=02:00:00:00:00:01", "recirc_id(0),in_port(vm0),eth(dst=02:00:00:00:00:01)"},
		{"in_port=1,dl_src=02:00:00:00:00:01,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00,dl_type=0x88cc", "recirc_id(0),in_port(1),eth(src=02:00:00:00:00:01,dst=01:00:00:00:00:00/01:00:00:00:00:00),eth_type(0x88cc)"},
		{"in_port=1,ip,nw_src=10.1.0.0/16,nw_frag=no", "recirc_id(0),in_port(1),eth_type(0x0800),ipv4(src=10.1.0.0/255.255.0.0,frag=no)"},
		{"in_port=1,tcp,nw_tos=8,nw_ttl=64,tp_dst=80", "recirc_id(0),in_port(1),eth_type(0x0800),ipv4(proto=6,tos=0x8/0xfc,ttl=64),tcp(dst=80)"},
		{"in_port=1,tcp,tcp_flags=+syn-ack", "recirc_id(0),in_port(1),eth_type(0x0800),ipv4(proto=6),tcp_flags(+syn-ack)"},
		{"in_port=1,udp,tp_src=0x400/0xfc00", "recirc_id(0),in_port(1),eth_type(0x0800),ipv4(proto=17),udp(src=0x400/0xfc00)"},
		{"in_port=1,icmp,icmp_type=8,icmp_code=0", "recirc_id(0),in_port(1),eth_type(0x0800),ipv4(proto=1),icmp(type=8,code=0)"},
		{"in_port=1,tcp6,ipv6_src=2001:db8::/32,ipv6_dst=::1", "recirc_id(0),in_port(1),eth_type(0x86dd),ipv6(src=2001:db8::/32,dst=::1,proto=6)"},
		{"in_port=1,icmp6,icmp_type=135,icmp_code=0,nd_target=fe80::1", "recirc_id(0),in_port(1),eth_type(0x86dd),ipv6(proto=58),icmpv6(type=135,code=0),nd(target=fe80::1)"},
		{"in_port=1,arp,arp_op=1,arp_spa=10.0.0.1", "recirc_id(0),in_port(1),eth_type(0x0806),arp(sip=10.0.0.1,op=1)"},
		{"in_port=1,dl_vlan=5,ip", "recirc_id(0),in_port(1),vlan(vid=5),encap(eth_type(0x0800))"},
		{"in_port=1,mpls,mpls_label=3", "recirc_id(0),in_port(1),eth_type(0x8847),mpls(label=3)"},
	}
	for _, tt := range tests {
		var m flow.Match
		if err := m.Parse(tt.match, nil); err != nil {
			t.Errorf("%s: %v", tt.match, err)
			continue
		}
		if got := string(AppendMegaflow(nil, &m, names{2: "vm0"})); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.match, got, tt.want)
		}
	}
}

// TestActions prints lists as dpctl/dump-flows does.
func TestActions(t *testing.T) {
	v4, err := flow.Parse("in_port=1,tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64")
	if err != nil {
		t.Fatal(err)
	}
	arp, err := flow.Parse("in_port=1,arp,arp_op=1")
	if err != nil {
		t.Fatal(err)
	}
	mac := uint64(0x020000000009) << 16
	const all = 0xffffffffffff << 16
	out := func(p uint32) Action { return Action{Op: Output, Port: p} }
	tests := []struct {
		want string
		key  *flow.Key
		list []Action
	}{
		{"drop", &v4, nil},
		{"drop", &v4, []Action{{Op: Drop}}},
		{"1,vm0,3", &v4, []Action{out(1), out(2), out(3)}},
		{"set(eth(src=02:00:00:00:00:09,dst=02:00:00:00:00:09)),1", &v4, []Action{{Op: Set, Word: flow.WordDst, Value: mac, Mask: all}, {Op: Set, Word: flow.WordSrc, Value: mac, Mask: all}, out(1)}},
		{"set(ipv4(dst=10.9.0.0/255.255.0.0,ttl=63)),set(tcp(dst=80)),1", &v4, []Action{
			{Op: Set, Word: flow.WordIPSrc, Value: 0x0a090000, Mask: 0xffff0000},
			{Op: Set, Word: flow.WordIP, Value: 63 << 40, Mask: 0xff << 40},
			{Op: Set, Word: flow.WordTP, Value: 80 << 32, Mask: 0xffff << 32},
			out(1),
		}},
		{"set(arp(op=2,sha=02:00:00:00:00:09)),1", &arp, []Action{{Op: Set, Word: flow.WordIP, Value: 2 << 56, Mask: 0xff << 56}, {Op: Set, Word: flow.WordSHA, Value: mac, Mask: all}, out(1)}},
		{"pop_vlan,push_vlan(vid=5,pcp=3),push_vlan(tpid=0x88a8,vid=7,pcp=0),1", &v4, []Action{{Op: PopVLAN}, {Op: PushVLAN, Value: 0x81006005}, {Op: PushVLAN, Value: 0x88a80007}, out(1)}},
		{"push_mpls(label=7,tc=1,ttl=64,bos=1,eth_type=0x8847),set(mpls(label=9)),1,pop_mpls(eth_type=0x800),4", &v4, []Action{
			{Op: PushMPLS, Value: 0x8847<<32 | 7<<12 | 1<<9 | 0x100 | 64},
			{Op: Set, Word: flow.WordMPLS, Value: 9 << 44, Mask: 0xfffff << 44},
			out(1),
			{Op: PopMPLS, Value: 0x800},
			out(4),
		}},
		{"set(skb_priority(0x5)),1", &v4, []Action{{Op: Set, Word: flow.WordQueue, Value: 5 << 32, Mask: 0xffffffff << 32}, out(1)}},
		{"meter(4),trunc(100),1", &v4, []Action{{Op: Meter, Value: 4}, {Op: Trunc, Value: 100}, out(1)}},
		{"1,5", &v4, []Action{out(1), {Op: Patch, Jump: 3}, out(5)}},
		{"check_pkt_len(size=100,gt(1),le(drop))", &v4, []Action{{Op: CheckLen, Value: 100, Jump: 3}, out(1), {Op: Goto, Jump: 4}, {Op: Drop}}},
		{"3,check_pkt_len(size=100,gt(check_pkt_len(size=200,gt(1),le(4))),le(5)),6", &v4, []Action{
			out(3),
			{Op: CheckLen, Value: 100, Jump: 7},
			{Op: CheckLen, Value: 200, Jump: 5},
			out(1),
			{Op: Goto, Jump: 6},
			out(4),
			{Op: Goto, Jump: 8},
			out(5), out(6),
		}},
	}
	for _, tt := range tests {
		if got := string(AppendActions(nil, tt.list, tt.key, names{2: "vm0"})); got != tt.want {
			t.Errorf("\n got %s\nwant %s", got, tt.want)
		}
	}
}
