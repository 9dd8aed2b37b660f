package flow

import "github.com/gvswitch/gvswitch/internal/hdr"

// Fields that have a part of their own in a match.
var (
	fieldEthType = known("eth_type")
	fieldProto   = known("nw_proto")
	fieldTCI     = known("vlan_tci")
	fieldVLAN    = known("dl_vlan")
	fieldPCP     = known("dl_vlan_pcp")
	fieldRecirc  = known("recirc_id")
	fieldEthSrc  = known("eth_src")
	fieldEthDst  = known("eth_dst")
)

// The fields in the order in which ovs-ofctl shows them, around the protocol's name, the VLAN tag and the
// EtherType, which have rules of their own.
var (
	shownFirst   = list("pkt_mark", "recirc_id", "dp_hash", "conj_id", "skb_priority", "actset_output", "ct_state", "ct_zone", "ct_mark", "ct_label")
	shownCT4     = list("ct_nw_src", "ct_nw_dst", "ct_nw_proto", "ct_tp_src", "ct_tp_dst")
	shownCT6     = list("ct_ipv6_src", "ct_ipv6_dst", "ct_nw_proto", "ct_tp_src", "ct_tp_dst")
	shownRegs    = list("reg0", "reg1", "reg2", "reg3", "reg4", "reg5", "reg6", "reg7", "reg8", "reg9", "reg10", "reg11", "reg12", "reg13", "reg14", "reg15", "tun_id")
	shownTunnel4 = list("tun_src", "tun_dst", "tun_tos", "tun_ttl", "tun_flags", "metadata", "in_port")
	shownTunnel6 = list("tun_ipv6_src", "tun_ipv6_dst", "tun_tos", "tun_ttl", "tun_flags", "metadata", "in_port")
	shownEth     = list("eth_src", "eth_dst")
	shownIPv4    = list("nw_src", "nw_dst")
	shownIPv6    = list("ipv6_src", "ipv6_dst", "ipv6_label")
	shownARP     = list("arp_spa", "arp_tpa", "arp_op", "arp_sha", "arp_tha")
	shownIP      = list("nw_tos", "nw_ecn", "nw_ttl", "ip_frag")
	shownMPLS    = list("mpls_label", "mpls_tc", "mpls_ttl", "mpls_bos")
	shownTP      = list("tcp_src", "tcp_dst")
	shownTCP     = list("tcp_src", "tcp_dst", "tcp_flags")
	shownICMP    = list("icmp_type", "icmp_code")
	shownND      = list("nd_target", "nd_sll", "nd_tll", "nd_reserved")
)

func list(names ...string) []*Field {
	var l []*Field
	for _, name := range names {
		l = append(l, known(name))
	}
	return l
}

// matchText is a match being written.
type matchText struct {
	b     []byte
	start int
	m     *Match
	n     PortNames
}

// Append appends m as ovs-ofctl prints it: nothing for a match of everything.
func (m *Match) Append(b []byte, n PortNames) []byte {
	t := matchText{b: b, start: len(b), m: m, n: n}
	t.fields(shownFirst)
	name, proto := m.protocol()
	if fieldEthType.Get(&m.Key).Lo == hdr.TypeIPv6 {
		t.fields(shownCT6)
	} else {
		t.fields(shownCT4)
	}
	if t.has(fieldRecirc) && (t.has(fieldEthType) || t.has(fieldEthSrc) || t.has(fieldEthDst) || t.has(fieldTCI)) {
		t.word("eth")
	}
	if name != "" {
		t.word(name)
	}
	t.fields(shownRegs)
	if m.Key[WordTun]&TunIPv6 != 0 {
		t.fields(shownTunnel6)
	} else {
		t.fields(shownTunnel4)
	}
	t.tag()
	t.fields(shownEth)
	if name == "" {
		t.field(fieldEthType)
	}
	t.layer3(proto)
	t.layer4()
	return t.b
}

// String is m as ovs-ofctl prints it, ports as numbers.
func (m *Match) String() string { return string(m.Append(nil, nil)) }

// protocol is the word that stands for m's EtherType, and its protocol if proto; "" if there is none.
func (m *Match) protocol() (name string, proto bool) {
	if m.Mask[WordSrc]&bitsEthType != bitsEthType {
		return "", false
	}
	k := Key{WordSrc: m.Key[WordSrc] & bitsEthType}
	name = k.protocolName()
	if m.Mask[WordIP]&bitsProto == bitsProto {
		k[WordIP] = m.Key[WordIP] & bitsProto
		if more := k.protocolName(); more != name && more != "igmp" {
			return more, true
		}
	}
	return name, false
}

func (t *matchText) has(f *Field) bool { return !f.mask(&t.m.Mask).IsZero() }

// comma separates what comes from what is there.
func (t *matchText) comma() {
	if len(t.b) > t.start {
		t.b = append(t.b, ',')
	}
}

func (t *matchText) word(s string) {
	t.comma()
	t.b = append(t.b, s...)
}

// field appends what the match asks of f, if anything.
func (t *matchText) field(f *Field) {
	v, mask := t.m.Get(f)
	if mask.IsZero() {
		return
	}
	t.word(f.shown())
	t.b = f.append(append(t.b, '='), v, mask, t.n, true)
}

func (t *matchText) fields(l []*Field) {
	for _, f := range l {
		t.field(f)
	}
}

// tag appends what the match asks of the VLAN tag: as id and priority where that says it.
func (t *matchText) tag() {
	const present, vid, pcp = 0x1000, 0xfff, 0xe000
	v, mask := t.m.Get(fieldTCI)
	id, prio := mask.Lo == present|vid, mask.Lo == present|pcp
	if mask.Lo == present|vid|pcp {
		id, prio = true, true
	}
	if v.Lo&present == 0 || !id && !prio {
		t.field(fieldTCI)
		return
	}
	if id {
		t.field(fieldVLAN)
	}
	if prio {
		t.field(fieldPCP)
	}
}

// layer3 appends the network layer's fields; proto says that the protocol's number has been said.
func (t *matchText) layer3(proto bool) {
	switch k := &t.m.Key; k.EthType() {
	case hdr.TypeARP, hdr.TypeRARP:
		t.fields(shownARP)
		return
	case hdr.TypeMPLS, hdr.TypeMPLSMC:
		t.fields(shownMPLS)
		return
	case hdr.TypeIPv6:
		t.fields(shownIPv6)
	default:
		t.fields(shownIPv4)
	}
	if !proto {
		t.field(fieldProto)
	}
	t.fields(shownIP)
}

// layer4 appends the transport layer's fields.
func (t *matchText) layer4() {
	k := t.m.Key
	switch c := k.kind(); {
	case c.tcp:
		t.fields(shownTCP)
	case c.icmpv6:
		t.fields(shownICMP)
		t.fields(shownND)
	case c.icmp:
		t.fields(shownICMP)
	default:
		t.fields(shownTP)
	}
}
