package flow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/internal/hdr"
)

// setter puts a value in text form into a field.
type setter func(s *spec, value string) error

// groups are the names that take key=value arguments in ovs-dpctl's form.
var groups = map[string]bool{
	"eth": true, "vlan": true, "mpls": true, "ipv4": true, "ipv6": true, "arp": true, "tcp": true,
	"udp": true, "sctp": true, "icmp": true, "icmpv6": true, "igmp": true, "nd": true, "packet_type": true,
}

// aliases are the other names of fields: OXM's, ovs-ofctl's and ovs-dpctl's.
var aliases = map[string]string{
	"dl_src": "eth.src", "eth_src": "eth.src", "dl_dst": "eth.dst", "eth_dst": "eth.dst",
	"dl_type":  "eth_type",
	"vlan_vid": "vlan.vid", "vlan_pcp": "vlan.pcp", "dl_vlan_pcp": "vlan.pcp", "vlan.cfi": "vlan.dei",
	"nw_src": "ipv4.src", "ip_src": "ipv4.src", "nw_dst": "ipv4.dst", "ip_dst": "ipv4.dst",
	"nw_proto": "ipv4.proto", "ip_proto": "ipv4.proto", "ipv6.proto": "ipv4.proto",
	"nw_ttl": "ipv4.ttl", "ipv6.hlimit": "ipv4.ttl", "ipv4.tos": "tos", "ipv6.tclass": "tos",
	"nw_frag": "ipv4.frag", "ip_frag": "ipv4.frag", "ipv6.frag": "ipv4.frag", "ip_dscp": "nw_dscp", "ip_ecn": "nw_ecn",
	"ipv6_src": "ipv6.src", "ipv6_dst": "ipv6.dst", "ipv6_label": "ipv6.label",
	"arp_spa": "ipv4.src", "arp.sip": "ipv4.src", "arp_tpa": "ipv4.dst", "arp.tip": "ipv4.dst",
	"arp.op": "arp_op", "arp.sha": "arp_sha", "arp.tha": "arp_tha", "nd_sll": "arp_sha", "nd.sll": "arp_sha",
	"nd_tll": "arp_tha", "nd.tll": "arp_tha", "nd.target": "nd_target", "nd.reserved": "nd_reserved",
	"tcp.src": "tp_src", "udp.src": "tp_src", "sctp.src": "tp_src", "tcp_src": "tp_src", "udp_src": "tp_src", "sctp_src": "tp_src",
	"tcp.dst": "tp_dst", "udp.dst": "tp_dst", "sctp.dst": "tp_dst", "tcp_dst": "tp_dst", "udp_dst": "tp_dst", "sctp_dst": "tp_dst",
	"icmp.type": "icmp_type", "icmpv6.type": "icmp_type", "icmpv6_type": "icmp_type", "igmp.type": "icmp_type",
	"icmp.code": "icmp_code", "icmpv6.code": "icmp_code", "icmpv6_code": "icmp_code", "igmp.code": "icmp_code",
	"igmp.group": "igmp_group",
}

// setters are the fields by their one name.
var setters = map[string]setter{
	"in_port":   number(32, func(k *Key, v uint64) { k.SetInPort(uint32(v)) }),
	"recirc_id": number(32, func(k *Key, v uint64) { k.SetRecircID(uint32(v)) }),
	"eth.src":   mac((*Key).SetEthSrc),
	"eth.dst":   mac((*Key).SetEthDst),
	"eth_type":  number(16, func(k *Key, v uint64) { k.SetEthType(uint16(v)) }),

	"vlan.vid":   tag(12, 0),
	"vlan.pcp":   tag(3, hdr.PCPShift),
	"vlan.dei":   tag(1, 12),
	"dl_vlan":    tag(12, 0),
	"vlan.tci":   tag(16, 0),
	"vlan_tci":   tag(16, 0),
	"vlan_tpid1": number(16, func(k *Key, v uint64) { k.set(WordVLAN, 48, 16, v) }),
	"vlan_tci1":  number(16, func(k *Key, v uint64) { k.set(WordVLAN, 32, 16, v) }),
	"vlan_tpid2": number(16, func(k *Key, v uint64) { k.set(WordVLAN, 16, 16, v) }),
	"vlan_tci2":  number(16, func(k *Key, v uint64) { k.set(WordVLAN, 0, 16, v) }),

	"ipv4.src":   address4((*Key).SetIPv4Src),
	"ipv4.dst":   address4((*Key).SetIPv4Dst),
	"ipv4.proto": number(8, func(k *Key, v uint64) { k.SetIPProto(uint8(v)) }),
	"ipv4.ttl":   number(8, func(k *Key, v uint64) { k.SetTTL(uint8(v)) }),
	"ipv4.frag":  fragment,
	"tos":        number(8, func(k *Key, v uint64) { k.SetTOS(uint8(v)) }),
	"nw_tos":     dscp(8, 0),
	"nw_dscp":    dscp(6, 2),
	"nw_ecn":     number(2, func(k *Key, v uint64) { k.SetTOS(k.TOS()&^3 | uint8(v)) }),
	"ipv6.src":   address6((*Key).SetIPv6Src),
	"ipv6.dst":   address6((*Key).SetIPv6Dst),
	"ipv6.label": number(20, func(k *Key, v uint64) { k.SetLabel(uint32(v)) }),

	"arp_op":      number(8, func(k *Key, v uint64) { k.SetIPProto(uint8(v)) }),
	"arp_sha":     mac((*Key).SetSHA),
	"arp_tha":     mac((*Key).SetTHA),
	"nd_target":   address6((*Key).SetNDTarget),
	"nd_reserved": number(32, func(k *Key, v uint64) { k.SetNDReserved(uint32(v)) }),

	"tp_src":     number(16, func(k *Key, v uint64) { k.SetTPSrc(uint16(v)) }),
	"tp_dst":     number(16, func(k *Key, v uint64) { k.SetTPDst(uint16(v)) }),
	"icmp_type":  number(8, func(k *Key, v uint64) { k.SetTPSrc(uint16(v)) }),
	"icmp_code":  number(8, func(k *Key, v uint64) { k.SetTPDst(uint16(v)) }),
	"igmp_group": address4((*Key).SetIGMPGroup),
	"tcp_flags":  flags,

	"mpls.label": label(20, 12),
	"mpls.tc":    label(3, 9),
	"mpls.bos":   label(1, 8),
	"mpls.ttl":   label(8, 0),
	"mpls_lse0":  number(32, func(k *Key, v uint64) { k.SetMPLS(0, uint32(v)) }),
	"mpls_lse1":  number(32, func(k *Key, v uint64) { k.SetMPLS(1, uint32(v)) }),
	"mpls_lse2":  number(32, func(k *Key, v uint64) { k.SetMPLS(2, uint32(v)) }),

	"payload": (*spec).payloadHex,

	// Of datapath flows; a new Ethernet frame always has these values.
	"packet_type.ns": constant(0), "packet_type.id": constant(0),
	"skb_priority": constant(0), "skb_mark": constant(0), "dp_hash": constant(0), "ct_state": constant(0),
	"ct_zone": constant(0), "ct_mark": constant(0), "ct_label": constant(0),
}

// parseNumber reads a decimal or 0x number of at most bits bits.
func parseNumber(v string, bits int) (uint64, error) {
	n, err := strconv.ParseUint(v, 0, bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("out of range, at most %d", uint64(1)<<bits-1)
	case err != nil:
		return 0, errors.New("not a number")
	}
	return n, nil
}

func number(bits int, set func(k *Key, v uint64)) setter {
	return func(s *spec, v string) error {
		n, err := parseNumber(v, bits)
		if err == nil {
			set(&s.key, n)
		}
		return err
	}
}

// constant accepts only v.
func constant(v uint64) setter {
	return func(_ *spec, text string) error {
		if n, err := parseNumber(text, 64); err != nil || n != v {
			return fmt.Errorf("a new frame can only have %d", v)
		}
		return nil
	}
}

// dscp reads a value for the DSCP, which the low two bits of TOS are not part of.
func dscp(bits, shift int) setter {
	return number(bits, func(k *Key, v uint64) { k.SetTOS(k.TOS()&3 | uint8(v<<shift)&^3) })
}

// tag reads part of the tag that stands at this place.
func tag(bits, shift int) setter {
	return func(s *spec, v string) error {
		n, err := parseNumber(v, bits)
		if err != nil {
			return err
		}
		at := uint(32)
		if s.tags > 0 {
			at = 0
		}
		if s.key[WordVLAN]>>at>>16&0xffff == 0 {
			s.key.set(WordVLAN, at+16, 16, hdr.TypeVLAN)
		}
		s.key.set(WordVLAN, at+uint(shift), uint(bits), n)
		return nil
	}
}

// label reads part of the label stack entry that stands at this place.
func label(bits, shift uint) setter {
	return func(s *spec, v string) error {
		n, err := parseNumber(v, int(bits))
		if err != nil {
			return err
		}
		i := max(0, s.labels-1)
		m := (uint32(1)<<bits - 1) << shift
		s.key.SetMPLS(i, s.key.MPLS(i)&^m|uint32(n)<<shift)
		return nil
	}
}

func mac(set func(k *Key, m hdr.MAC)) setter {
	return func(s *spec, v string) error {
		a, err := net.ParseMAC(v)
		if err != nil || len(a) != 6 {
			return errors.New("not an Ethernet address")
		}
		set(&s.key, hdr.MACOf((*[6]byte)(a)))
		return nil
	}
}

func address4(set func(k *Key, v uint32)) setter {
	return func(s *spec, v string) error {
		a, err := netip.ParseAddr(v)
		if err != nil || !a.Is4() {
			return errors.New("not an IPv4 address")
		}
		b := a.As4()
		set(&s.key, binary.BigEndian.Uint32(b[:]))
		return nil
	}
}

func address6(set func(k *Key, hi, lo uint64)) setter {
	return func(s *spec, v string) error {
		a, err := netip.ParseAddr(v)
		if err != nil || !a.Is6() || a.Zone() != "" {
			return errors.New("not an IPv6 address")
		}
		b := a.As16()
		set(&s.key, binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:]))
		return nil
	}
}

func fragment(s *spec, v string) error {
	for _, f := range []uint8{0, FragAny, FragAny | FragLater} {
		if v == fragName(f) {
			s.key.SetFrag(f)
			return nil
		}
	}
	return errors.New("not no, first or later")
}

// flags reads TCP flags by name, joined by | or each after +, or as a number.
func flags(s *spec, v string) error {
	if n, err := parseNumber(v, 12); err == nil {
		s.key.SetTCPFlags(uint16(n))
		return nil
	}
	var f uint16
	for name := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == '|' || r == '+' }) {
		i := 0
		for i < len(tcpFlags) && tcpFlags[i] != name {
			i++
		}
		if i == len(tcpFlags) {
			return fmt.Errorf("%s is not a TCP flag", name)
		}
		f |= 1 << i
	}
	s.key.SetTCPFlags(f)
	return nil
}
