package odp

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/hdr"
)

const (
	typeARP  = hdr.TypeARP
	typeRARP = hdr.TypeRARP
)

// fields prints headers, with those of their fields that m has bits of.
type fields struct {
	b       []byte
	k, m    *flow.Key
	started bool
	comma   bool
}

// header prints name(...) if inside adds anything.
func (f *fields) header(name string, inside func()) {
	start, started := len(f.b), f.started
	if started {
		f.b = append(f.b, ',')
	}
	f.b = append(append(f.b, name...), '(')
	n := len(f.b)
	f.comma = false
	inside()
	if len(f.b) == n {
		f.b = f.b[:start]
		return
	}
	f.b = append(f.b, ')')
	f.started = true
}

func (f *fields) add(name, value string) {
	if f.comma {
		f.b = append(f.b, ',')
	}
	f.comma = true
	if name != "" {
		f.b = append(append(f.b, name...), '=')
	}
	f.b = append(f.b, value...)
}

// num prints n bits at shift of word w: decimal if they all count, else value and mask.
func (f *fields) num(name string, w int, shift, n uint, hexa bool) {
	all := uint64(1)<<n - 1
	v, m := f.k[w]>>shift&all, f.m[w]>>shift&all
	switch {
	case m == 0:
	case m != all:
		f.add(name, shortHex(v&m)+"/"+shortHex(m))
	case hexa:
		f.add(name, shortHex(v))
	default:
		f.add(name, strconv.FormatUint(v, 10))
	}
}

func (f *fields) mac(name string, w int) {
	const all = 1<<48 - 1
	v, m := f.k[w]>>16, f.m[w]>>16
	switch m {
	case 0:
	case all:
		f.add(name, hdr.MAC(v).String())
	default:
		f.add(name, hdr.MAC(v&m).String()+"/"+hdr.MAC(m).String())
	}
}

func (f *fields) ip4(name string, shift uint) {
	v, m := uint32(f.k[flow.WordIPSrc]>>shift), uint32(f.m[flow.WordIPSrc]>>shift)
	switch m {
	case 0:
	case ^uint32(0):
		f.add(name, ip4(v))
	default:
		f.add(name, ip4(v&m)+"/"+ip4(m))
	}
}

func (f *fields) ip6(name string, w int) {
	hi, lo := f.m[w], f.m[w+1]
	if hi|lo == 0 {
		return
	}
	text := ip6(f.k[w]&hi, f.k[w+1]&lo)
	switch n := bits.LeadingZeros64(^hi); {
	case hi&lo == ^uint64(0):
	case hi == ^uint64(0) && lo == ^uint64(0)<<(64-bits.LeadingZeros64(^lo)):
		text += "/" + strconv.Itoa(64+bits.LeadingZeros64(^lo))
	case lo == 0 && hi == ^uint64(0)<<(64-n):
		text += "/" + strconv.Itoa(n)
	default:
		text += "/" + ip6(hi, lo)
	}
	f.add(name, text)
}

func (f *fields) metadata() {
	f.header("skb_priority", func() { f.num("", flow.WordQueue, 32, 32, true) })
	f.header("ct_state", func() { f.num("", flow.WordCT, 32, 32, true) })
	f.header("ct_zone", func() { f.num("", flow.WordCT, 16, 16, true) })
	f.header("ct_mark", func() { f.num("", flow.WordMark, 32, 32, true) })
	f.header("skb_mark", func() { f.num("", flow.WordMark, 0, 32, true) })
}

func (f *fields) tunnel() {
	f.header("tunnel", func() {
		if m := f.m[flow.WordTunID]; m != 0 {
			f.add("tun_id", shortHex(f.k[flow.WordTunID]&m))
		}
		f.num("src", flow.WordTunSrc, 32, 32, true)
		f.num("dst", flow.WordTunSrc, 0, 32, true)
	})
}

func (f *fields) eth() {
	f.header("eth", func() {
		f.mac("src", flow.WordSrc)
		f.mac("dst", flow.WordDst)
	})
}

// tags prints the VLAN tags that are there and were looked at, and gives how many encap( it left open.
func (f *fields) tags() int {
	n := 0
	for shift := uint(32); ; shift -= 32 {
		w, m := uint32(f.k[flow.WordVLAN]>>shift), uint32(f.m[flow.WordVLAN]>>shift)
		if m == 0 || w&m>>31 == 0 {
			break
		}
		if m>>16 == 0xffff { // else either TPID will do
			f.header("eth_type", func() { f.add("", hex4(uint16(w>>16))) })
		}
		f.header("vlan", func() {
			f.num("vid", flow.WordVLAN, shift, 12, false)
			f.num("pcp", flow.WordVLAN, shift+13, 3, false)
			if m>>12&1 != 0 && w>>12&1 != 0 {
				f.add("dei", "1")
			}
			if m&0x7fffffff == 0 {
				f.add("", "present")
			}
		})
		f.b = append(f.b, ",encap("...)
		f.started = false
		n++
		if shift == 0 {
			break
		}
	}
	return n
}

// network prints IPv4, IPv6, ARP or MPLS, whatever the packet is.
func (f *fields) network() {
	switch f.k.EthType() {
	case hdr.TypeIPv4:
		f.header("ipv4", func() {
			f.ip4("src", 32)
			f.ip4("dst", 0)
			f.ip()
		})
	case hdr.TypeIPv6:
		f.header("ipv6", func() {
			f.ip6("src", flow.WordIPSrc)
			f.ip6("dst", flow.WordIPDst)
			f.num("label", flow.WordIP, 0, 20, true)
			f.ip()
		})
	case typeARP, typeRARP:
		f.header("arp", func() {
			f.ip4("sip", 32)
			f.ip4("tip", 0)
			f.num("op", flow.WordIP, 56, 8, false)
			f.mac("sha", flow.WordSHA)
			f.mac("tha", flow.WordTHA)
		})
	case hdr.TypeMPLS, hdr.TypeMPLSMC:
		f.labels()
	}
}

func (f *fields) ip() {
	tos, ttl := "tos", "ttl"
	if f.k.EthType() == hdr.TypeIPv6 {
		tos, ttl = "tclass", "hlimit"
	}
	f.num("proto", flow.WordIP, 56, 8, false)
	f.num(tos, flow.WordIP, 48, 8, true)
	f.num(ttl, flow.WordIP, 40, 8, false)
	if m := f.m[flow.WordIP] >> 32 & 3; m != 0 {
		text := "no"
		switch f.k.Frag() & uint8(m) {
		case flow.FragAny:
			text = "first"
		case flow.FragLater, flow.FragAny | flow.FragLater:
			text = "later"
		}
		if m == flow.FragLater && text == "no" {
			text = "not_later"
		}
		f.add("frag", text)
	}
}

func (f *fields) labels() {
	f.header("mpls", func() {
		for i := range 3 {
			if m := f.m.MPLS(i); m != 0 {
				f.add("", string(appendLSE(nil, f.k.MPLS(i), m)))
			}
		}
	})
}

// transport prints what is in an IP packet.
func (f *fields) transport() {
	k := f.k
	ip4, ip6 := k.EthType() == hdr.TypeIPv4, k.EthType() == hdr.TypeIPv6
	if !ip4 && !ip6 {
		return
	}
	ports := func() {
		f.num("src", flow.WordTP, 48, 16, false)
		f.num("dst", flow.WordTP, 32, 16, false)
	}
	kind := func() {
		f.num("type", flow.WordTP, 48, 8, false)
		f.num("code", flow.WordTP, 32, 8, false)
	}
	switch p := k.IPProto(); {
	case p == hdr.ProtoTCP:
		f.header("tcp", ports)
		f.header("tcp_flags", f.flags)
	case p == hdr.ProtoUDP:
		f.header("udp", ports)
	case p == hdr.ProtoSCTP:
		f.header("sctp", ports)
	case p == hdr.ProtoICMP && ip4:
		f.header("icmp", kind)
	case p == hdr.ProtoIGMP && ip4:
		f.header("igmp", kind)
	case p == hdr.ProtoICMPv6 && ip6:
		f.header("icmpv6", kind)
		f.header("nd", func() {
			f.ip6("target", flow.WordTarget)
			f.mac("sll", flow.WordSHA)
			f.mac("tll", flow.WordTHA)
			f.num("reserved", flow.WordMPLS2, 0, 32, true)
		})
	}
}

var flagNames = [12]string{"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr", "ns", "[200]", "[400]", "[800]"}

func (f *fields) flags() {
	v, m := f.k[flow.WordTP]>>16&0xfff, f.m[flow.WordTP]>>16&0xfff
	if m == 0 {
		return
	}
	var s []string
	for i, name := range flagNames {
		switch on := v>>i&1 != 0; {
		case m>>i&1 == 0:
		case m == 0xfff && on:
			s = append(s, name)
		case m != 0xfff && on:
			s = append(s, "+"+name)
		case m != 0xfff:
			s = append(s, "-"+name)
		}
	}
	switch {
	case m != 0xfff:
		f.add("", strings.Join(s, ""))
	case s == nil:
		f.add("", "0")
	default:
		f.add("", strings.Join(s, "|"))
	}
}

// appendLSE prints those fields of a label stack entry that m has bits of.
func appendLSE(b []byte, lse, m uint32) []byte {
	k, mask := flow.Key{0: uint64(lse)}, flow.Key{0: uint64(m)}
	f := fields{b: b, k: &k, m: &mask}
	f.num("label", 0, 12, 20, false)
	f.num("tc", 0, 9, 3, false)
	f.num("ttl", 0, 0, 8, false)
	f.num("bos", 0, 8, 1, false)
	return f.b
}

func hex4(v uint16) string { return fmt.Sprintf("0x%04x", v) }

// shortHex is a number as C's %#x prints it.
func shortHex(v uint64) string {
	if v == 0 {
		return "0"
	}
	return "0x" + strconv.FormatUint(v, 16)
}

func ip4(a uint32) string {
	return netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)}).String()
}

func ip6(hi, lo uint64) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	return netip.AddrFrom16(b).String()
}
