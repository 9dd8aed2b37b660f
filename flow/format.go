package flow

import (
	"fmt"
	"strings"

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

// text collects the parts of a flow's text.
type text struct {
	strings.Builder
	comma bool
}

// add appends one part.
func (t *text) add(format string, args ...any) {
	if t.comma {
		t.WriteByte(',')
	}
	t.comma = true
	fmt.Fprintf(t, format, args...)
}

// Format is k as ovs-ofctl(8) writes a flow: in_port=1,tcp,dl_src=...,nw_ttl=64,...
// Parse reads it back.
func Format(k *Key) string {
	var t text
	if id := k.RecircID(); id != 0 {
		t.add("recirc_id=%#x", id)
	}
	t.add("in_port=%d", k.InPort())
	name := k.protocolName()
	if name != "" {
		t.add("%s", name)
	}
	k.formatTags(&t)
	t.add("dl_src=%s,dl_dst=%s", k.EthSrc(), k.EthDst())
	if name == "" {
		t.add("dl_type=0x%04x", k.EthType())
	}
	c := k.kind()
	switch {
	case c.ip4:
		t.add("nw_src=%s,nw_dst=%s", ip4(k.IPv4Src()), ip4(k.IPv4Dst()))
		k.formatIP(&t, name == "ip")
	case c.ip6:
		t.add("ipv6_src=%s,ipv6_dst=%s,ipv6_label=0x%05x", ip6(k.IPv6Src()), ip6(k.IPv6Dst()), k.Label())
		k.formatIP(&t, name == "ipv6")
	case c.arp:
		t.add("arp_spa=%s,arp_tpa=%s,arp_op=%d", ip4(k.IPv4Src()), ip4(k.IPv4Dst()), k.IPProto())
		t.add("arp_sha=%s,arp_tha=%s", k.SHA(), k.THA())
	case c.mpls:
		k.formatMPLS(&t)
	}
	k.formatTP(&t, &c)
	return t.String()
}

func (k *Key) formatTags(t *text) {
	for i := range 2 {
		tpid, tci := k.VLAN()
		if i == 1 {
			tpid, tci = k.InnerVLAN()
		}
		if tpid == 0 {
			return
		}
		n := fmt.Sprint(i + 1)
		if i == 0 && k[WordVLAN]&0xffffffff == 0 && tpid == hdr.TypeVLAN && tci&hdr.DEI == 0 {
			t.add("dl_vlan=%d,dl_vlan_pcp=%d", tci&hdr.VIDMask, tci>>hdr.PCPShift)
			return
		}
		t.add("vlan_tpid%s=0x%04x,vlan_tci%s=0x%04x", n, tpid, n, tci)
	}
}

func (k *Key) formatIP(t *text, proto bool) {
	if proto {
		t.add("nw_proto=%d", k.IPProto())
	}
	t.add("nw_tos=%d,nw_ecn=%d,nw_ttl=%d", k.TOS()&^3, k.TOS()&3, k.TTL())
	if k.Frag() != 0 {
		t.add("nw_frag=%s", fragName(k.Frag()))
	}
}

func fragName(f uint8) string {
	switch f {
	case 0:
		return "no"
	case FragAny:
		return "first"
	}
	return "later"
}

func (k *Key) formatMPLS(t *text) {
	for i := range maxLabels {
		if lse := k.MPLS(i); lse != 0 {
			t.add("mpls_lse%d=0x%08x", i, lse)
		}
	}
}

func (k *Key) formatTP(t *text, c *kind) {
	switch {
	case c.tcp, c.udp, c.sctp:
		t.add("tp_src=%d,tp_dst=%d", k.TPSrc(), k.TPDst())
		if c.tcp {
			t.add("tcp_flags=%s", tcpFlagNames(k))
		}
	case c.icmp, c.icmpv6, c.igmp:
		t.add("icmp_type=%d,icmp_code=%d", k.TPSrc(), k.TPDst())
	}
	if c.igmp {
		t.add("igmp_group=%s", ip4(k.IGMPGroup()))
	}
	if c.nd {
		t.add("nd_target=%s,nd_sll=%s,nd_tll=%s", ip6(k.NDTarget()), k.SHA(), k.THA())
		if r := k.NDReserved(); r != 0 {
			t.add("nd_reserved=0x%08x", r)
		}
	}
}
