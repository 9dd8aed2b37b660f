package flow

// Fields that the text of keys has beside the table's: the parts of a key that OpenFlow has no
// field for, and a datapath's port number, which is no OpenFlow port.
var keyFields = func() map[string]*Field {
	names := map[string]*Field{}
	for _, f := range []Field{
		field("in_port", 32, dec, exact, needNothing, rw, in(WordPort, 32, 32, 0)),
		field("tos", 8, hexa, exact, needIP, rw, in(WordIP, 48, 8, 0)),
		field("igmp_group", 32, ipv4Form, exact, needIPv4, rw, in(WordTarget, 32, 32, 0)),
		field("vlan_tpid1", 16, hexa, exact, needNothing, rw, in(WordVLAN, 48, 16, 0)).hexDigits(4),
		field("vlan_tci1", 16, hexa, exact, needNothing, rw, in(WordVLAN, 32, 16, 0)).hexDigits(4),
		field("vlan_tpid2", 16, hexa, exact, needNothing, rw, in(WordVLAN, 16, 16, 0)).hexDigits(4),
		field("vlan_tci2", 16, hexa, exact, needNothing, rw, in(WordVLAN, 0, 16, 0)).hexDigits(4),
		field("mpls_lse0", 32, hexa, exact, needMPLS, rw, in(WordMPLS, 32, 32, 0)).hexDigits(8),
		field("mpls_lse1", 32, hexa, exact, needMPLS, rw, in(WordMPLS, 0, 32, 0)).hexDigits(8),
		field("mpls_lse2", 32, hexa, exact, needMPLS, rw, in(WordMPLS2, 32, 32, 0)).hexDigits(8),
	} {
		names[f.Name] = &f
	}
	for name, alias := range map[string]string{"nw_dscp": "ip_dscp", "skb_mark": "pkt_mark"} {
		names[name] = known(alias)
	}
	return names
}()

// keyField is the field called name in the text of a key; nil if there is none.
func keyField(name string) *Field {
	if f := keyFields[name]; f != nil {
		return f
	}
	return FieldByName(name)
}

// tagFields are parts of the tag that stands at a place in the text: the outer one or the second. A
// frame's tag has all its bits here, the DEI's as it is.
var tagFields = func() map[string][2]*Field {
	names := map[string][2]*Field{}
	for _, p := range []struct {
		names       []string
		shift, bits uint8
		form        form
	}{
		{[]string{"vlan.vid", "vlan_vid", "dl_vlan"}, 0, 12, dec},
		{[]string{"vlan.pcp", "vlan_pcp", "dl_vlan_pcp"}, 13, 3, dec},
		{[]string{"vlan.dei", "vlan.cfi"}, 12, 1, dec},
		{[]string{"vlan.tci", "vlan_tci"}, 0, 16, hexa},
	} {
		outer := field(p.names[0], int(p.bits), p.form, exact, needNothing, rw, in(WordVLAN, 32+p.shift, p.bits, 0))
		inner := field(p.names[0], int(p.bits), p.form, exact, needNothing, rw, in(WordVLAN, p.shift, p.bits, 0))
		for _, name := range p.names {
			names[name] = [2]*Field{&outer, &inner}
		}
	}
	return names
}()

// labelFields are parts of the label stack entry that stands at a place in the text.
var labelFields = func() map[string][maxLabels]*Field {
	names := map[string][maxLabels]*Field{}
	for _, p := range []struct {
		name        string
		shift, bits uint8
	}{{"mpls.label", 12, 20}, {"mpls.tc", 9, 3}, {"mpls.bos", 8, 1}, {"mpls.ttl", 0, 8}} {
		var l [maxLabels]*Field
		for i, at := range []slot{in(WordMPLS, 32, 32, 0), in(WordMPLS, 0, 32, 0), in(WordMPLS2, 32, 32, 0)} {
			f := field(p.name, int(p.bits), dec, exact, needMPLS, rw, in(at.word, at.shift+p.shift, p.bits, 0))
			l[i] = &f
		}
		names[p.name] = l
	}
	return names
}()

// group is a header in ovs-dpctl's form, name(key=value,...), with its fields in the order in which they
// are written.
type group struct {
	name string
	keys []groupKey
}

type groupKey struct {
	name  string
	field *Field
}

// groupList are all of them, but those whose fields depend on the place: vlan and mpls.
var groupList = func() []group {
	var l []group
	for _, g := range [][]string{
		{"eth", "src", "eth_src", "dst", "eth_dst"},
		{"ipv4", "src", "nw_src", "dst", "nw_dst", "proto", "nw_proto", "tos", "tos", "ttl", "nw_ttl", "frag", "ip_frag"},
		{"ipv6", "src", "ipv6_src", "dst", "ipv6_dst", "label", "ipv6_label", "proto", "nw_proto", "tclass", "tos", "hlimit", "nw_ttl", "frag", "ip_frag"},
		{"arp", "sip", "arp_spa", "tip", "arp_tpa", "op", "arp_op", "sha", "arp_sha", "tha", "arp_tha"},
		{"tcp", "src", "tcp_src", "dst", "tcp_dst"},
		{"udp", "src", "udp_src", "dst", "udp_dst"},
		{"sctp", "src", "sctp_src", "dst", "sctp_dst"},
		{"icmp", "type", "icmp_type", "code", "icmp_code"},
		{"igmp", "type", "icmp_type", "code", "icmp_code", "group", "igmp_group"},
		{"icmpv6", "type", "icmpv6_type", "code", "icmpv6_code"},
		{"nd", "target", "nd_target", "sll", "nd_sll", "tll", "nd_tll", "reserved", "nd_reserved"},
	} {
		x := group{name: g[0]}
		for i := 1; i < len(g); i += 2 {
			x.keys = append(x.keys, groupKey{g[i], keyField(g[i+1])})
		}
		l = append(l, x)
	}
	return l
}()

// groups are the headers by name.
var groups = func() map[string]*group {
	m := map[string]*group{"vlan": {name: "vlan"}, "mpls": {name: "mpls"}, "packet_type": {name: "packet_type"}}
	for i := range groupList {
		m[groupList[i].name] = &groupList[i]
	}
	return m
}()

// field is the field that g calls key; nil if there is none.
func (g *group) field(key string) *Field {
	for _, k := range g.keys {
		if k.name == key {
			return k.field
		}
	}
	return nil
}
