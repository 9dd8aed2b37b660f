package flow

import (
	"github.com/gvswitch/gvswitch/internal/hdr"
)

// kind says which header fields a key has.
type kind struct {
	ip4, ip6, arp, mpls          bool
	tcp, udp, sctp, icmp, icmpv6 bool
	igmp, nd                     bool
}

// kind looks at EtherType, protocol and fragment bits.
func (k *Key) kind() kind {
	var c kind
	switch k.EthType() {
	case hdr.TypeIPv4:
		c.ip4 = true
	case hdr.TypeIPv6:
		c.ip6 = true
	case hdr.TypeARP, hdr.TypeRARP:
		c.arp = true
		return c
	case hdr.TypeMPLS, hdr.TypeMPLSMC:
		c.mpls = true
		return c
	default:
		return c
	}
	switch k.IPProto() {
	case hdr.ProtoTCP:
		c.tcp = true
	case hdr.ProtoUDP:
		c.udp = true
	case hdr.ProtoSCTP:
		c.sctp = true
	case hdr.ProtoICMP:
		c.icmp = c.ip4
	case hdr.ProtoIGMP:
		c.igmp = c.ip4
	case hdr.ProtoICMPv6:
		c.icmpv6 = c.ip6
		t := k.TPSrc()
		c.nd = c.ip6 && (t == hdr.ICMPv6NS || t == hdr.ICMPv6NA) && k.TPDst() == 0
	}
	return c
}

// protocolName is the word of ovs-ofctl that stands for EtherType and protocol;
// "" when there is none.
func (k *Key) protocolName() string {
	c := k.kind()
	six := ""
	if c.ip6 {
		six = "6"
	}
	switch {
	case c.tcp:
		return "tcp" + six
	case c.udp:
		return "udp" + six
	case c.sctp:
		return "sctp" + six
	case c.icmp:
		return "icmp"
	case c.icmpv6:
		return "icmp6"
	case c.igmp:
		return "igmp"
	case c.ip4:
		return "ip"
	case c.ip6:
		return "ipv6"
	}
	switch k.EthType() {
	case hdr.TypeARP:
		return "arp"
	case hdr.TypeRARP:
		return "rarp"
	case hdr.TypeMPLS:
		return "mpls"
	case hdr.TypeMPLSMC:
		return "mplsm"
	}
	return ""
}

// keyText is a key being written.
type keyText struct {
	b     []byte
	k     *Key
	match bool // numbers as in a match
	comma bool
}

// sep separates what comes from what is there.
func (t *keyText) sep() {
	if t.comma {
		t.b = append(t.b, ',')
	}
	t.comma = true
}

func (t *keyText) word(s string) {
	t.sep()
	t.b = append(t.b, s...)
}

// value appends name=value of f.
func (t *keyText) value(name string, f *Field) {
	t.word(name)
	t.b = f.append(append(t.b, '='), f.Get(t.k), f.full, nil, t.match)
}

func (t *keyText) fields(l []*Field) {
	for _, f := range l {
		t.value(f.shown(), f)
	}
}

// some appends those fields that are not 0.
func (t *keyText) some(l []*Field) {
	for _, f := range l {
		if !f.Get(t.k).IsZero() {
			t.value(f.shown(), f)
		}
	}
}

// Fields of a key's text that stand differently in a match.
var (
	keyInPort   = keyField("in_port")
	keyTunnel   = []*Field{known("tun_src"), known("tun_dst")}
	keyTunnel6  = []*Field{known("tun_ipv6_src"), known("tun_ipv6_dst")}
	keyMetadata = append(list("tun_tos", "tun_ttl", "tun_flags"), known("metadata"))
	keyTTL      = list("nw_tos", "nw_ecn", "nw_ttl")
	keyFrag     = list("ip_frag")
	keyIGMP     = []*Field{keyField("igmp_group")}
	keyNDMain   = list("nd_target", "nd_sll", "nd_tll")
	keyNDMore   = list("nd_reserved")
	keyLabels   = []*Field{keyField("mpls_lse0"), keyField("mpls_lse1"), keyField("mpls_lse2")}
	keyTags     = [2][]*Field{{keyField("vlan_tpid1"), keyField("vlan_tci1")}, {keyField("vlan_tpid2"), keyField("vlan_tci2")}}
)

// Format is k as ovs-ofctl(8) writes a flow: in_port=1,tcp,dl_src=...,nw_ttl=64,...
// Parse reads it back.
func Format(k *Key) string {
	t := keyText{k: k, match: true}
	t.some(shownFirst)
	c := k.kind()
	if c.ip6 {
		t.some(shownCT6)
	} else {
		t.some(shownCT4)
	}
	t.value("in_port", keyInPort)
	name := k.protocolName()
	if name != "" {
		t.word(name)
	}
	t.some(shownRegs)
	if k[WordTun]&TunIPv6 != 0 {
		t.fields(keyTunnel6)
	} else {
		t.some(keyTunnel)
	}
	t.some(keyMetadata)
	t.tags()
	t.fields(shownEth)
	if name == "" {
		t.value("dl_type", fieldEthType)
	}
	t.network(&c, name == "ip" || name == "ipv6")
	t.transport(&c)
	return string(t.b)
}

func (t *keyText) tags() {
	tpid, tci := t.k.VLAN()
	if tpid == hdr.TypeVLAN && tci&hdr.DEI == 0 && t.k[WordVLAN]&0xffffffff == 0 {
		t.fields([]*Field{fieldVLAN, fieldPCP})
		return
	}
	for i := range keyTags {
		if keyTags[i][0].Get(t.k).IsZero() {
			return
		}
		t.fields(keyTags[i])
	}
}

// network appends the network layer's fields, and with proto the protocol's number.
func (t *keyText) network(c *kind, proto bool) {
	switch {
	case c.ip4:
		t.fields(shownIPv4)
	case c.ip6:
		t.fields(shownIPv6)
	case c.arp:
		t.fields(shownARP)
	case c.mpls:
		t.some(keyLabels)
	}
	if !c.ip4 && !c.ip6 {
		return
	}
	if proto {
		t.value("nw_proto", fieldProto)
	}
	t.fields(keyTTL)
	t.some(keyFrag)
}

func (t *keyText) transport(c *kind) {
	switch {
	case c.tcp:
		t.fields(shownTCP)
	case c.udp, c.sctp:
		t.fields(shownTP)
	case c.icmp, c.icmpv6, c.igmp:
		t.fields(shownICMP)
	}
	if c.igmp {
		t.fields(keyIGMP)
	}
	if c.nd {
		t.fields(keyNDMain)
		t.some(keyNDMore)
	}
}
