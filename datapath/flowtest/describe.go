package flowtest

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
)

// Describe is what a person writes to expect got, given that f was sent.
func (f Frame) Describe(got []byte) string {
	if bytes.Equal(got, f.Bytes) {
		return "same"
	}
	if len(got) < len(f.Bytes) && bytes.HasPrefix(f.Bytes, got) {
		return fmt.Sprintf("cut=%d", len(got))
	}
	a, b := keyOf(f.Bytes), keyOf(got)
	var items []string
	if t := tagsText(got); t != tagsText(f.Bytes) {
		items = append(items, "tags="+t)
	}
	for _, c := range changeable {
		if v := c.text(b); v != c.text(a) {
			items = append(items, c.name+"="+v)
		}
	}
	text := strings.Join(items, ",")
	if want, err := f.change(text); err == nil && bytes.Equal(want, got) {
		return text
	}
	return "hex " + hex.EncodeToString(got)
}

func keyOf(frame []byte) *flow.Key {
	var p packet.Packet
	p.SetBytes(frame)
	k := new(flow.Key)
	if len(frame) <= packet.MaxFrame {
		flow.Extract(&p, k)
	}
	return k
}

// changeable are the fields that a change of a frame is described by.
var changeable = []struct {
	name string
	text func(k *flow.Key) string
}{
	{"eth_src", func(k *flow.Key) string { return k.EthSrc().String() }},
	{"eth_dst", func(k *flow.Key) string { return k.EthDst().String() }},
	{"ip_src", func(k *flow.Key) string { return address4(k, k.IPv4Src()) }},
	{"ip_dst", func(k *flow.Key) string { return address4(k, k.IPv4Dst()) }},
	{"ipv6_src", func(k *flow.Key) string { return address6(k, k.IPv6Src) }},
	{"ipv6_dst", func(k *flow.Key) string { return address6(k, k.IPv6Dst) }},
	{"tos", func(k *flow.Key) string { return fmt.Sprint(k.TOS()) }},
	{"nw_ttl", func(k *flow.Key) string { return fmt.Sprint(k.TTL()) }},
	{"ipv6_label", func(k *flow.Key) string { return fmt.Sprintf("%#x", k.Label()) }},
	{"tp_src", func(k *flow.Key) string { return fmt.Sprint(k.TPSrc()) }},
	{"tp_dst", func(k *flow.Key) string { return fmt.Sprint(k.TPDst()) }},
	{"arp_op", func(k *flow.Key) string { return arp(k, fmt.Sprint(k.IPProto())) }},
	{"arp_sha", func(k *flow.Key) string { return k.SHA().String() }},
	{"arp_tha", func(k *flow.Key) string { return k.THA().String() }},
	{"mpls_lse0", func(k *flow.Key) string { return fmt.Sprintf("%#x", k.MPLS(0)) }},
	{"mpls_lse1", func(k *flow.Key) string { return fmt.Sprintf("%#x", k.MPLS(1)) }},
	{"mpls_lse2", func(k *flow.Key) string { return fmt.Sprintf("%#x", k.MPLS(2)) }},
}

const (
	typeARP  = 0x0806
	typeIPv6 = 0x86dd
)

// address4 is "" for what has no IPv4 addresses.
func address4(k *flow.Key, a uint32) string {
	if k.EthType() == typeIPv6 {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d.%d", a>>24, a>>16&0xff, a>>8&0xff, a&0xff)
}

func address6(k *flow.Key, a func() (hi, lo uint64)) string {
	if k.EthType() != typeIPv6 {
		return ""
	}
	hi, lo := a()
	var s []string
	for _, w := range []uint64{hi, lo} {
		for shift := 48; shift >= 0; shift -= 16 {
			s = append(s, fmt.Sprintf("%x", w>>shift&0xffff))
		}
	}
	return strings.Join(s, ":")
}

func arp(k *flow.Key, v string) string {
	if k.EthType() != typeARP {
		return ""
	}
	return v
}
