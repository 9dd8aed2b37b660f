package flow

import (
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/internal/hdr"
)

// FormatDatapath is k as ovs-dpctl(8) writes a flow:
// in_port(1),eth(src=...,dst=...),eth_type(0x0800),ipv4(...),tcp(...). Parse reads it
// back.
func FormatDatapath(k *Key) string {
	var t text
	t.add("recirc_id(%v),in_port(%d)", hexNum(k.RecircID()), k.InPort())
	t.add("eth(src=%s,dst=%s)", k.EthSrc(), k.EthDst())
	tags := 0
	for i := range 2 {
		tpid, tci := k.VLAN()
		if i == 1 {
			tpid, tci = k.InnerVLAN()
		}
		if tpid == 0 {
			break
		}
		t.add("eth_type(0x%04x),vlan(vid=%d,pcp=%d", tpid, tci&hdr.VIDMask, tci>>hdr.PCPShift)
		if tci&hdr.DEI != 0 {
			t.add("dei=1")
		}
		t.WriteString("),encap(")
		t.comma = false
		tags++
	}
	if k.EthType() != TypeNone {
		t.add("eth_type(0x%04x)", k.EthType())
	}
	k.formatL3(&t)
	t.WriteString(strings.Repeat(")", tags))
	return t.String()
}

func (k *Key) formatL3(t *text) {
	c := k.kind()
	switch {
	case c.ip4:
		t.add("ipv4(src=%s,dst=%s,proto=%d,tos=%v,ttl=%d,frag=%s)",
			ip4(k.IPv4Src()), ip4(k.IPv4Dst()), k.IPProto(), hexNum(k.TOS()), k.TTL(), fragName(k.Frag()))
	case c.ip6:
		t.add("ipv6(src=%s,dst=%s,label=%v,proto=%d,tclass=%v,hlimit=%d,frag=%s)",
			ip6(k.IPv6Src()), ip6(k.IPv6Dst()), hexNum(k.Label()), k.IPProto(), hexNum(k.TOS()), k.TTL(), fragName(k.Frag()))
	case c.arp:
		t.add("arp(sip=%s,tip=%s,op=%d,sha=%s,tha=%s)", ip4(k.IPv4Src()), ip4(k.IPv4Dst()), k.IPProto(), k.SHA(), k.THA())
	case c.mpls:
		last := maxLabels - 1
		for last > 0 && k.MPLS(last) == 0 {
			last--
		}
		for i := range last + 1 {
			lse := k.MPLS(i)
			t.add("mpls(label=%d,tc=%d,ttl=%d,bos=%d)", lse>>12, lse>>9&7, lse&0xff, lse>>8&1)
		}
	}
	ports := fmt.Sprintf("(src=%d,dst=%d)", k.TPSrc(), k.TPDst())
	typeCode := fmt.Sprintf("(type=%d,code=%d)", k.TPSrc(), k.TPDst())
	switch {
	case c.tcp:
		t.add("tcp%s,tcp_flags(%s)", ports, tcpFlagNames(k))
	case c.udp:
		t.add("udp%s", ports)
	case c.sctp:
		t.add("sctp%s", ports)
	case c.icmp:
		t.add("icmp%s", typeCode)
	case c.igmp:
		t.add("igmp(type=%d,code=%d,group=%s)", k.TPSrc(), k.TPDst(), ip4(k.IGMPGroup()))
	case c.icmpv6:
		t.add("icmpv6%s", typeCode)
	}
	if c.nd {
		t.add("nd(target=%s,sll=%s,tll=%s", ip6(k.NDTarget()), k.SHA(), k.THA())
		if r := k.NDReserved(); r != 0 {
			t.add("reserved=%#x", r)
		}
		t.WriteString(")")
	}
}

// hexNum is a number that prints as C's %#x does: without 0x when it is 0.
type hexNum uint32

func (n hexNum) String() string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%#x", uint32(n))
}
