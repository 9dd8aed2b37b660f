package flow

import (
	"strconv"
	"strings"
)

// TagPresent is the bit of WordVLAN that says that there is an outer tag: both TPIDs that count
// as tags have it. OpenFlow's bit 0x1000 of vlan_tci and vlan_vid stands for it.
const TagPresent = 1 << 63

// TunIPv6 is the bit of WordTun that says that the tunnel's addresses are IPv6.
const TunIPv6 = 1 << 63

// form is how a field's values are written.
type form uint8

const (
	dec form = iota
	hexa
	macForm
	ipv4Form
	ipv6Form
	portForm
	fragForm
	tcpFlagsForm
	ctStateForm
	tunFlagsForm
)

// decimalInMatch are the digits of a field whose values are decimal in a match, whatever its form.
const decimalInMatch = 255

// Access of a field, and whether it may be masked.
const (
	ro, rw = false, true
	exact  = false
	masks  = true
)

// in is a slot of n bits, which begins at bit shift of word and at bit at of the value.
func in(word, shift, n, at uint8) slot {
	return slot{word: word, shift: shift, at: at, mask: Ones(uint(n)).Lo}
}

// wide are the slots of a field of 128 bits.
func wide(word uint8) []slot { return []slot{in(word, 0, 64, 64), in(word+1, 0, 64, 0)} }

var (
	isTagged = also{word: WordVLAN, mask: TagPresent, value: TagPresent}
	isTun4   = also{word: WordTun, mask: TunIPv6}
	isTun6   = also{word: WordTun, mask: TunIPv6, value: TunIPv6}
)

var (
	slotVID     = in(WordVLAN, 32, 12, 0)
	slotPresent = in(WordVLAN, 63, 1, 12)
)

// field is an entry of the table; names are the other names, separated by blanks.
func field(names string, bits int, f form, mask bool, n need, write bool, slots ...slot) Field {
	name, rest, _ := strings.Cut(names, " ")
	x := Field{Name: name, names: rest, Bits: bits, form: f, maskable: mask, need: n, writable: write, n: uint8(len(slots))}
	copy(x.slots[:], slots)
	for _, s := range slots {
		x.full = x.full.Or(Value{Lo: s.mask}.Lsh(uint(s.at)))
	}
	x.full = x.full.And(x.All())
	return x
}

func (f Field) with(a also) Field       { f.also = a; return f }
func (f Field) quirky(q quirk) Field    { f.quirk = q; return f }
func (f Field) hexDigits(n uint8) Field { f.digits = n; return f }

// table has all fields, in the order of ovs-fields(7).
var table = append([]Field{
	// Of the flow tables themselves.
	field("conj_id NXM_NX_CONJ_ID", 32, dec, exact, needNothing, ro, in(WordPipe, 32, 32, 0)),
	field("dp_hash NXM_NX_DP_HASH", 32, hexa, masks, needNothing, ro, in(WordCTTP, 0, 32, 0)),
	field("recirc_id NXM_NX_RECIRC_ID", 32, hexa, exact, needNothing, ro, in(WordPort, 0, 32, 0)),

	// Tunnels.
	field("tun_id tunnel_id NXM_NX_TUN_ID OXM_OF_TUNNEL_ID", 64, hexa, masks, needNothing, rw, in(WordTunID, 0, 64, 0)),
	field("tun_src NXM_NX_TUN_IPV4_SRC", 32, ipv4Form, masks, needNothing, rw, in(WordTunSrc, 32, 32, 0)).with(isTun4),
	field("tun_dst NXM_NX_TUN_IPV4_DST", 32, ipv4Form, masks, needNothing, rw, in(WordTunSrc, 0, 32, 0)).with(isTun4),
	field("tun_ipv6_src NXM_NX_TUN_IPV6_SRC", 128, ipv6Form, masks, needNothing, rw, wide(WordTunSrc)...).with(isTun6),
	field("tun_ipv6_dst NXM_NX_TUN_IPV6_DST", 128, ipv6Form, masks, needNothing, rw, wide(WordTunDst)...).with(isTun6),
	field("tun_flags NXM_NX_TUN_FLAGS", 1, tunFlagsForm, masks, needNothing, rw, in(WordTun, 48, 1, 0)),
	field("tun_ttl", 8, dec, exact, needNothing, rw, in(WordTun, 0, 8, 0)),
	field("tun_tos", 8, hexa, exact, needNothing, rw, in(WordTun, 8, 8, 0)),

	// Where the packet is, and what the system says of it.
	field("in_port NXM_OF_IN_PORT", 16, portForm, exact, needNothing, rw, in(WordPort, 32, 32, 0)).quirky(port16),
	field("in_port_oxm OXM_OF_IN_PORT", 32, portForm, exact, needNothing, rw, in(WordPort, 32, 32, 0)).quirky(port32),
	field("skb_priority", 32, hexa, exact, needNothing, ro, in(WordQueue, 32, 32, 0)),
	field("pkt_mark NXM_NX_PKT_MARK", 32, hexa, masks, needNothing, rw, in(WordMark, 0, 32, 0)),
	field("actset_output OXM_OF_ACTSET_OUTPUT ONFOXM_ET_ACTSET_OUTPUT", 32, portForm, exact, needNothing, ro, in(WordPipe, 0, 32, 0)).quirky(port32),

	// Connection tracking.
	field("ct_state NXM_NX_CT_STATE", 32, ctStateForm, masks, needNothing, ro, in(WordCT, 32, 32, 0)),
	field("ct_zone NXM_NX_CT_ZONE", 16, hexa, exact, needNothing, ro, in(WordCT, 16, 16, 0)).hexDigits(decimalInMatch),
	field("ct_mark NXM_NX_CT_MARK", 32, hexa, masks, needNothing, rw, in(WordMark, 32, 32, 0)),
	field("ct_label NXM_NX_CT_LABEL", 128, hexa, masks, needNothing, rw, wide(WordCTLabel)...),
	field("ct_nw_src NXM_NX_CT_NW_SRC", 32, ipv4Form, masks, needCT4, ro, in(WordCTSrc, 32, 32, 0)),
	field("ct_nw_dst NXM_NX_CT_NW_DST", 32, ipv4Form, masks, needCT4, ro, in(WordCTSrc, 0, 32, 0)),
	field("ct_ipv6_src NXM_NX_CT_IPV6_SRC", 128, ipv6Form, masks, needCT6, ro, wide(WordCTSrc)...),
	field("ct_ipv6_dst NXM_NX_CT_IPV6_DST", 128, ipv6Form, masks, needCT6, ro, wide(WordCTDst)...),
	field("ct_nw_proto NXM_NX_CT_NW_PROTO", 8, dec, exact, needCT, ro, in(WordCT, 8, 8, 0)),
	field("ct_tp_src NXM_NX_CT_TP_SRC", 16, dec, masks, needCTPorts, ro, in(WordCTTP, 48, 16, 0)),
	field("ct_tp_dst NXM_NX_CT_TP_DST", 16, dec, masks, needCTPorts, ro, in(WordCTTP, 32, 16, 0)),

	field("metadata OXM_OF_METADATA", 64, hexa, masks, needNothing, rw, in(WordMeta, 0, 64, 0)),

	// Ethernet and VLAN.
	field("eth_src dl_src NXM_OF_ETH_SRC OXM_OF_ETH_SRC", 48, macForm, masks, needNothing, rw, in(WordSrc, 16, 48, 0)),
	field("eth_dst dl_dst NXM_OF_ETH_DST OXM_OF_ETH_DST", 48, macForm, masks, needNothing, rw, in(WordDst, 16, 48, 0)),
	field("eth_type dl_type NXM_OF_ETH_TYPE OXM_OF_ETH_TYPE", 16, hexa, exact, needNothing, ro, in(WordSrc, 0, 16, 0)).hexDigits(4),
	field("vlan_tci NXM_OF_VLAN_TCI", 16, hexa, masks, needNothing, rw,
		in(WordVLAN, 45, 3, 13), slotPresent, slotVID).quirky(tagged).hexDigits(4),
	field("dl_vlan", 12, dec, exact, needNothing, rw, slotVID).quirky(tagged).with(isTagged),
	field("vlan_vid OXM_OF_VLAN_VID", 13, dec, masks, needNothing, rw, slotPresent, slotVID).quirky(tagged),
	field("dl_vlan_pcp", 3, dec, exact, needNothing, rw, in(WordVLAN, 45, 3, 0)).quirky(tagged).with(isTagged),
	field("vlan_pcp OXM_OF_VLAN_PCP", 3, dec, exact, needVLAN, rw, in(WordVLAN, 45, 3, 0)).quirky(tagged).with(isTagged),

	// MPLS: the outer entry of the label stack.
	field("mpls_label OXM_OF_MPLS_LABEL", 20, dec, exact, needMPLS, rw, in(WordMPLS, 32+12, 20, 0)),
	field("mpls_tc OXM_OF_MPLS_TC", 3, dec, exact, needMPLS, rw, in(WordMPLS, 32+9, 3, 0)),
	field("mpls_bos OXM_OF_MPLS_BOS", 1, dec, exact, needMPLS, ro, in(WordMPLS, 32+8, 1, 0)),
	field("mpls_ttl NXM_NX_MPLS_TTL", 8, dec, exact, needMPLS, rw, in(WordMPLS, 32, 8, 0)),

	// IP.
	field("nw_src ip_src NXM_OF_IP_SRC OXM_OF_IPV4_SRC", 32, ipv4Form, masks, needIPv4, rw, in(WordIPSrc, 32, 32, 0)),
	field("nw_dst ip_dst NXM_OF_IP_DST OXM_OF_IPV4_DST", 32, ipv4Form, masks, needIPv4, rw, in(WordIPSrc, 0, 32, 0)),
	field("ipv6_src NXM_NX_IPV6_SRC OXM_OF_IPV6_SRC", 128, ipv6Form, masks, needIPv6, rw, wide(WordIPSrc)...),
	field("ipv6_dst NXM_NX_IPV6_DST OXM_OF_IPV6_DST", 128, ipv6Form, masks, needIPv6, rw, wide(WordIPDst)...),
	field("ipv6_label NXM_NX_IPV6_LABEL OXM_OF_IPV6_FLABEL", 20, hexa, masks, needIPv6, rw, in(WordIP, 0, 20, 0)).hexDigits(5),
	field("nw_proto ip_proto NXM_OF_IP_PROTO OXM_OF_IP_PROTO", 8, dec, exact, needIP, ro, in(WordIP, 56, 8, 0)),
	field("nw_tos NXM_OF_IP_TOS", 8, dec, exact, needIP, rw, in(WordIP, 50, 6, 2)),
	field("ip_dscp OXM_OF_IP_DSCP", 6, dec, exact, needIP, rw, in(WordIP, 50, 6, 0)),
	field("nw_ecn ip_ecn NXM_NX_IP_ECN OXM_OF_IP_ECN", 2, dec, exact, needIP, rw, in(WordIP, 48, 2, 0)),
	field("nw_ttl NXM_NX_IP_TTL", 8, dec, exact, needIP, rw, in(WordIP, 40, 8, 0)),
	field("ip_frag nw_frag NXM_NX_IP_FRAG", 2, fragForm, masks, needIP, ro, in(WordIP, 32, 2, 0)),

	// ARP.
	field("arp_op NXM_OF_ARP_OP OXM_OF_ARP_OP", 16, dec, exact, needARP, rw, in(WordIP, 56, 8, 0)),
	field("arp_spa NXM_OF_ARP_SPA OXM_OF_ARP_SPA", 32, ipv4Form, masks, needARP, rw, in(WordIPSrc, 32, 32, 0)),
	field("arp_tpa NXM_OF_ARP_TPA OXM_OF_ARP_TPA", 32, ipv4Form, masks, needARP, rw, in(WordIPSrc, 0, 32, 0)),
	field("arp_sha NXM_NX_ARP_SHA OXM_OF_ARP_SHA", 48, macForm, masks, needARP, rw, in(WordSHA, 16, 48, 0)),
	field("arp_tha NXM_NX_ARP_THA OXM_OF_ARP_THA", 48, macForm, masks, needARP, rw, in(WordTHA, 16, 48, 0)),

	// Transport.
	field("tcp_src tp_src NXM_OF_TCP_SRC OXM_OF_TCP_SRC", 16, dec, masks, needTCP, rw, in(WordTP, 48, 16, 0)),
	field("tcp_dst tp_dst NXM_OF_TCP_DST OXM_OF_TCP_DST", 16, dec, masks, needTCP, rw, in(WordTP, 32, 16, 0)),
	field("tcp_flags NXM_NX_TCP_FLAGS OXM_OF_TCP_FLAGS ONFOXM_ET_TCP_FLAGS", 12, tcpFlagsForm, masks, needTCP, ro, in(WordTP, 16, 12, 0)),
	field("udp_src NXM_OF_UDP_SRC OXM_OF_UDP_SRC", 16, dec, masks, needUDP, rw, in(WordTP, 48, 16, 0)),
	field("udp_dst NXM_OF_UDP_DST OXM_OF_UDP_DST", 16, dec, masks, needUDP, rw, in(WordTP, 32, 16, 0)),
	field("sctp_src OXM_OF_SCTP_SRC", 16, dec, masks, needSCTP, rw, in(WordTP, 48, 16, 0)),
	field("sctp_dst OXM_OF_SCTP_DST", 16, dec, masks, needSCTP, rw, in(WordTP, 32, 16, 0)),
	field("icmp_type NXM_OF_ICMP_TYPE OXM_OF_ICMPV4_TYPE", 8, dec, exact, needICMP, rw, in(WordTP, 48, 8, 0)),
	field("icmp_code NXM_OF_ICMP_CODE OXM_OF_ICMPV4_CODE", 8, dec, exact, needICMP, rw, in(WordTP, 32, 8, 0)),
	field("icmpv6_type NXM_NX_ICMPV6_TYPE OXM_OF_ICMPV6_TYPE", 8, dec, exact, needICMPv6, rw, in(WordTP, 48, 8, 0)),
	field("icmpv6_code NXM_NX_ICMPV6_CODE OXM_OF_ICMPV6_CODE", 8, dec, exact, needICMPv6, rw, in(WordTP, 32, 8, 0)),
	field("nd_target NXM_NX_ND_TARGET OXM_OF_IPV6_ND_TARGET", 128, ipv6Form, masks, needND, rw, wide(WordTarget)...),
	field("nd_sll NXM_NX_ND_SLL OXM_OF_IPV6_ND_SLL", 48, macForm, masks, needNDSolicit, rw, in(WordSHA, 16, 48, 0)),
	field("nd_tll NXM_NX_ND_TLL OXM_OF_IPV6_ND_TLL", 48, macForm, masks, needNDAdvert, rw, in(WordTHA, 16, 48, 0)),
	field("nd_reserved ERICOXM_OF_ICMPV6_ND_RESERVED", 32, dec, exact, needND, rw, in(WordMPLS2, 0, 32, 0)),
}, registers()...)

// registers are reg0 to reg15, and the same as xreg0 to xreg7 and xxreg0 to xxreg3.
func registers() []Field {
	var t []Field
	for i := range 16 {
		n := strconv.Itoa(i)
		t = append(t, field("reg"+n+" NXM_NX_REG"+n, 32, hexa, masks, needNothing, rw, in(WordReg+uint8(i/2), uint8(32-i%2*32), 32, 0)))
	}
	for i := range 8 {
		n := strconv.Itoa(i)
		t = append(t, field("xreg"+n+" OXM_OF_PKT_REG"+n, 64, hexa, masks, needNothing, rw, in(WordReg+uint8(i), 0, 64, 0)))
	}
	for i := range 4 {
		n := strconv.Itoa(i)
		t = append(t, field("xxreg"+n+" NXM_NX_XXREG"+n, 128, hexa, masks, needNothing, rw, wide(WordReg+uint8(2*i))...))
	}
	return t
}

// all and byName are the table's fields in order and by any of their names; needy are those with a prerequisite.
var all, needy, byName = index(table)

func index(table []Field) (list, needy []*Field, _ map[string]*Field) {
	names := map[string]*Field{}
	for i := range table {
		f := &table[i]
		f.id = uint8(i)
		list = append(list, f)
		if f.need != needNothing {
			needy = append(needy, f)
		}
		for name := range strings.FieldsSeq(f.Name + " " + f.names) {
			names[name] = f
			// A name with _W says that a mask comes along.
			if strings.HasPrefix(name, "NXM_") || strings.HasPrefix(name, "OXM_") {
				names[name+"_W"] = f
			}
		}
	}
	return list, needy, names
}

// Fields are all fields, in the order of ovs-fields(7). The caller must not change the list.
func Fields() []*Field { return all }

// FieldByName is the field that has this name, in any form: eth_dst, dl_dst, NXM_OF_ETH_DST; nil
// if there is none.
func FieldByName(name string) *Field { return byName[name] }

// known is FieldByName for names that stand in this package.
func known(name string) *Field {
	f := byName[name]
	if f == nil {
		panic("flow: no field " + name)
	}
	return f
}
