package flowdiff

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// grammar makes rules and packets from small pools of values, so that they meet. It leaves out what is known to
// differ: hashes (select, multipath), protocol 0, fragments whose L4 header is changed, more than two tags.
type grammar struct {
	*rand.Rand
	table    int  // that the rule is for
	clones   bool // clone, else action sets: Open vSwitch 3.1 restores nothing behind a clone that comes last, though an action set follows
	stateful bool // NORMAL and learn, whose outcome depends on what came before
}

const lastTable = 4

func (g grammar) one(list ...string) string { return list[g.IntN(len(list))] }

// maybe is true once in n times.
func (g grammar) maybe(n int) bool { return g.IntN(n) == 0 }

func (g grammar) mac() string { return fmt.Sprintf("02:00:00:00:00:0%d", 1+g.IntN(4)) }
func (g grammar) ip4() string { return fmt.Sprintf("10.0.%d.%d", g.IntN(2), 1+g.IntN(4)) }
func (g grammar) ip6() string { return fmt.Sprintf("2001:db8:0:%d::%d", g.IntN(2), 1+g.IntN(4)) }
func (g grammar) l4() int     { return []int{53, 80, 81, 443, 1000, 1024}[g.IntN(6)] }
func (g grammar) port() int   { return 1 + g.IntN(4) }

// match makes a match, and says what the packet must be: "", "arp", "ip", "ipv6", "tcp", "udp", "tcp6", "icmp", and
// how many tags: one, none, or "" if that is not known.
func (g grammar) match(table int) (text, kind, tags string) {
	var m []string
	add := func(format string, a ...any) { m = append(m, fmt.Sprintf(format, a...)) }
	kind = g.one("", "", "arp", "ip", "ip", "ipv6", "tcp", "tcp", "udp", "tcp6", "icmp")
	if kind != "" {
		add("%s", kind)
	}
	if g.maybe(4) {
		add("in_port=%d", g.port())
	}
	if g.maybe(4) {
		add("dl_src=%s", g.mac())
	}
	if g.maybe(4) {
		add("dl_dst=%s", g.one(g.mac(), "02:00:00:00:00:02/ff:ff:ff:ff:ff:fe", "01:00:00:00:00:00/01:00:00:00:00:00"))
	}
	if g.maybe(3) {
		switch g.IntN(5) {
		case 0:
			add("dl_vlan=%d", 5+g.IntN(2))
			tags = "one"
		case 1:
			add("vlan_tci=0x1000/0x1000")
			tags = "one"
		case 2:
			add("vlan_tci=0x0000/0x1000")
			tags = "none"
		case 3:
			add("dl_vlan_pcp=%d", g.IntN(3))
			tags = "one"
		case 4:
			add("dl_vlan=0xffff")
			tags = "none"
		}
	}
	switch kind {
	case "arp":
		if g.maybe(2) {
			add("arp_op=%d", 1+g.IntN(2))
		}
		if g.maybe(2) {
			add("arp_%s=%s", g.one("spa", "tpa"), g.ip4())
		}
		if g.maybe(4) {
			add("arp_sha=%s", g.mac())
		}
	case "ip", "tcp", "udp", "icmp":
		if g.maybe(2) {
			add("nw_%s=%s", g.one("src", "dst"), g.one(g.ip4(), "10.0.0.0/24", "10.0.0.0/255.255.254.3", "10.0.1.2/31"))
		}
		if g.maybe(5) {
			add("nw_tos=%d", 4*g.IntN(2))
		}
		if g.maybe(6) {
			add("nw_ttl=%d", 63+g.IntN(2))
		}
		if kind == "ip" && g.maybe(4) {
			add("ip_frag=%s", g.one("no", "yes", "first", "later", "not_later"))
		}
	case "ipv6", "tcp6":
		if g.maybe(2) {
			add("ipv6_%s=%s", g.one("src", "dst"), g.one(g.ip6(), "2001:db8::/64", "2001:db8::/32", "::2/::ffff"))
		}
	}
	switch kind {
	case "tcp", "udp", "tcp6":
		if g.maybe(2) {
			add("tp_%s=%s", g.one("src", "dst"), g.one(fmt.Sprint(g.l4()), "0x0050/0xfffe", "0x0400/0xfc00"))
		}
		if kind != "udp" && g.maybe(4) {
			add("tcp_flags=%s", g.one("+syn-ack", "+ack", "+psh", "-fin"))
		}
	case "icmp":
		if g.maybe(2) {
			add("icmp_type=%d", 8*g.IntN(2))
		}
	}
	if table > 0 && g.maybe(3) {
		add("reg%d=%s", g.IntN(3), g.one("0", "1", "2", "0x10/0xf0", "0/1"))
	}
	if table > 0 && g.maybe(8) {
		add("metadata=%s", g.one("0", "1", "0/1"))
	}
	return strings.Join(m, ","), kind, tags
}

// edit makes an action that changes the packet or what goes with it.
func (g grammar) edit(kind, tags string) string {
	switch g.IntN(9) {
	case 0:
		return fmt.Sprintf("set_field:%s->eth_%s", g.mac(), g.one("src", "dst"))
	case 1:
		return g.one("load:1->reg0[]", "load:2->reg1[]", "load:1->reg2[4..7]", "load:5->reg0[0..2]", "set_field:0x10/0xf0->reg1", "load:1->metadata[]")
	case 2:
		return g.one("move:reg0[0..15]->reg1[0..15]", "move:reg1[]->reg2[]", "move:eth_src[0..7]->reg0[0..7]", "move:eth_src[]->eth_dst[]", "move:in_port[]->reg0[0..15]")
	case 3:
		// mod_vlan_vid without knowing means push_vlan in some versions of OpenFlow.
		switch tags {
		case "one":
			return g.one("set_field:4101->vlan_vid", "set_field:1->vlan_pcp", "strip_vlan", "mod_vlan_vid:6")
		case "none":
			return g.one("push_vlan:0x8100,set_field:4101->vlan_vid", "push_vlan:0x88a8", "mod_vlan_vid:5", "mod_vlan_pcp:2")
		}
	case 4:
		return g.one("push:reg0[],pop:reg1[]", "push:eth_src[],push:eth_dst[],pop:eth_src[],pop:eth_dst[]")
	case 5:
		if g.table > 0 { // Open vSwitch 3.1 forgets what is changed behind it when a resubmit comes back
			break
		}
		return fmt.Sprintf("check_pkt_larger(%d)->reg%d[0]", 60+g.IntN(120), g.IntN(3))
	}
	switch kind {
	case "arp":
		return g.one("set_field:2->arp_op", "set_field:"+g.ip4()+"->arp_spa", "set_field:"+g.mac()+"->arp_tha")
	case "ip", "tcp", "udp", "icmp":
		l3 := g.one("dec_ttl", "set_field:"+g.ip4()+"->ip_src", "set_field:"+g.ip4()+"->ip_dst", "mod_nw_tos:8", "mod_nw_ecn:1", "mod_nw_ttl:9", "load:1->ip_dst[0]")
		if g.maybe(2) && (kind == "tcp" || kind == "udp") {
			return g.one(fmt.Sprintf("set_field:%d->%s_dst", g.l4(), kind), fmt.Sprintf("set_field:%d->%s_src", g.l4(), kind),
				fmt.Sprintf("move:%s_src[]->%s_dst[]", kind, kind))
		}
		return l3
	case "ipv6", "tcp6":
		return g.one("dec_ttl", "set_field:"+g.ip6()+"->ipv6_src", "set_field:"+g.ip6()+"->ipv6_dst", "set_field:7->ipv6_label", "load:3->ipv6_dst[0..7]")
	}
	return "note:00"
}

func (g grammar) output() string {
	switch g.IntN(12) {
	case 0:
		return "in_port"
	case 1:
		return g.one("flood", "all")
	case 2:
		return fmt.Sprintf("group:%d", 1+g.IntN(3))
	case 3:
		if g.stateful {
			return "normal"
		}
		return "output:reg0[0..15]"
	}
	return fmt.Sprintf("output:%d", g.port())
}

// actions makes a list.
func (g grammar) actions(table int, kind, tags string) string {
	if g.maybe(12) {
		return "drop"
	}
	g.table = table
	var list []string
	if table == 0 && g.maybe(8) {
		// First: Open vSwitch 3.1 cuts before it pushes a tag that the packet should have by then.
		list = append(list, fmt.Sprintf("output(port=%d,max_len=%d)", g.port(), 40+g.IntN(60)))
	}
	for range 1 + g.IntN(4) {
		switch g.IntN(8) {
		case 0, 1, 2:
			list = append(list, g.output())
		case 3, 4, 5:
			e := g.edit(kind, tags)
			list = append(list, e)
			switch {
			case strings.Contains(e, "strip_vlan"):
				tags = ""
			case strings.Contains(e, "vlan"):
				tags = "one"
			}
		case 6:
			if table < lastTable {
				list = append(list, g.one(fmt.Sprintf("resubmit(,%d)", table+1+g.IntN(lastTable-table)),
					fmt.Sprintf("resubmit(%d,%d)", g.port(), table+1+g.IntN(lastTable-table))))
			}
		case 7:
			if !g.clones {
				continue
			}
			list = append(list, "clone("+g.edit(kind, tags)+","+g.output()+")")
		}
	}
	if g.stateful && g.maybe(4) {
		list = append(list, fmt.Sprintf("learn(table=%d,priority=%d,eth_dst=eth_src,output:in_port)", lastTable, 1+g.IntN(50)))
	}
	if g.maybe(30) {
		list = append(list, "exit")
	}
	if g.maybe(20) {
		list = append(list, "clear_actions")
	}
	if !g.clones && g.maybe(4) {
		list = append(list, fmt.Sprintf("write_actions(%s,output:%d)", g.edit("", ""), g.port()))
		if strings.Contains(list[len(list)-1], "push:") || strings.Contains(list[len(list)-1], "check_pkt") || strings.Contains(list[len(list)-1], "note") ||
			strings.Contains(list[len(list)-1], "move:") {
			list[len(list)-1] = fmt.Sprintf("write_actions(output:%d)", g.port())
		}
	}
	if g.maybe(8) {
		list = append(list, g.one("write_metadata:1", "write_metadata:2/3"))
	}
	if table < lastTable && g.maybe(3) {
		list = append(list, fmt.Sprintf("goto_table:%d", table+1+g.IntN(lastTable-table)))
	}
	if len(list) == 0 {
		return "drop"
	}
	return strings.Join(list, ",")
}

func (g grammar) rule() string {
	table := g.IntN(lastTable + 1)
	match, kind, tags := g.match(table)
	if match != "" {
		match += ","
	}
	return fmt.Sprintf("table=%d,priority=%d,%sactions=%s", table, g.IntN(60)*1000+g.IntN(1000), match, g.actions(table, kind, tags))
}

// groups makes groups 1 to 3.
func (g grammar) groups() []string {
	return []string{
		fmt.Sprintf("group_id=1,type=all,bucket=set_field:%s->eth_src,output:%d,bucket=output:%d", g.mac(), g.port(), g.port()),
		fmt.Sprintf("group_id=2,type=indirect,bucket=set_field:02:00:00:00:00:0f->eth_dst,output:%d", g.port()),
		fmt.Sprintf("group_id=3,type=ff,bucket=watch_port:%d,output:%d,bucket=watch_port:%d,output:%d", g.port(), g.port(), g.port(), g.port()),
	}
}

// conjunctions makes rules that belong together.
func (g grammar) conjunctions() []string {
	id, priority := 1+g.IntN(5), 60000+g.IntN(1000)
	l := []string{
		fmt.Sprintf("priority=%d,ip,nw_src=%s,actions=conjunction(%d,1/2)", priority, g.ip4(), id),
		fmt.Sprintf("priority=%d,ip,nw_src=10.0.1.0/24,actions=conjunction(%d,1/2)", priority, id),
		fmt.Sprintf("priority=%d,ip,nw_dst=%s,actions=conjunction(%d,2/2)", priority, g.ip4(), id),
		fmt.Sprintf("priority=%d,tcp,tp_dst=%d,actions=conjunction(%d,2/2)", priority, g.l4(), id),
	}
	return append(l, fmt.Sprintf("priority=%d,conj_id=%d,ip,actions=%s", priority, id, g.actions(0, "ip", "")))
}

// packet makes a packet; id is in its payload, which nothing looks at.
func (g grammar) packet(id int) string {
	p := fmt.Sprintf("eth_src=%s,eth_dst=%s", g.mac(), g.one(g.mac(), g.mac(), "ff:ff:ff:ff:ff:ff"))
	switch g.IntN(9) {
	case 0:
		p += fmt.Sprintf(",arp,arp_op=%d,arp_spa=%s,arp_tpa=%s,arp_sha=%s,arp_tha=%s", 1+g.IntN(2), g.ip4(), g.ip4(), g.mac(), g.mac())
	case 1:
		p += fmt.Sprintf(",ip,nw_proto=50,nw_src=%s,nw_dst=%s", g.ip4(), g.ip4())
		if g.maybe(2) {
			p += ",ip_frag=" + g.one("first", "later")
		}
	case 2, 3:
		p += fmt.Sprintf(",tcp,nw_src=%s,nw_dst=%s,tp_src=%d,tp_dst=%d,tcp_flags=%s", g.ip4(), g.ip4(), g.l4(), g.l4(), g.one("syn", "ack", "psh|ack", "fin|ack"))
	case 4:
		p += fmt.Sprintf(",udp,nw_src=%s,nw_dst=%s,tp_src=%d,tp_dst=%d", g.ip4(), g.ip4(), g.l4(), g.l4())
	case 5:
		p += fmt.Sprintf(",tcp6,ipv6_src=%s,ipv6_dst=%s,tp_src=%d,tp_dst=%d,tcp_flags=ack", g.ip6(), g.ip6(), g.l4(), g.l4())
	case 6:
		p += fmt.Sprintf(",udp6,ipv6_src=%s,ipv6_dst=%s,tp_src=%d,tp_dst=%d", g.ip6(), g.ip6(), g.l4(), g.l4())
	case 7:
		p += fmt.Sprintf(",icmp,nw_src=%s,nw_dst=%s,icmp_type=%d", g.ip4(), g.ip4(), 8*g.IntN(2))
	case 8:
		p += ",eth_type=0x88b5"
	}
	if strings.Contains(p, ",ip,") || strings.Contains(p, ",tcp,") || strings.Contains(p, ",udp,") {
		p += fmt.Sprintf(",nw_ttl=%d,nw_tos=%d", []int{1, 2, 63, 64}[g.IntN(4)], 4*g.IntN(2))
	}
	if g.maybe(3) {
		vid := []int{0, 5, 6, 7}[g.IntN(4)]
		if g.stateful {
			vid = 5 // NORMAL of Open vSwitch 3.1 leaves a tag of VLAN 0 where its documentation takes it off
		}
		p += fmt.Sprintf(",tags=%d/p%d", vid, g.IntN(3))
	}
	if g.maybe(2) {
		p += fmt.Sprintf(",len=%d", 64+g.IntN(140))
	}
	return p + fmt.Sprintf(",payload=f00d%04xf00d", id)
}
