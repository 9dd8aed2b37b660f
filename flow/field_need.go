package flow

import "github.com/gvswitch/gvswitch/internal/hdr"

// need is what a packet must be to have a field.
type need uint8

const (
	needNothing need = iota
	needVLAN
	needMPLS
	needARP
	needIP
	needIPv4
	needIPv6
	needTCP
	needUDP
	needSCTP
	needICMP
	needICMPv6
	needND
	needNDSolicit
	needNDAdvert
	needCT
	needCTPorts
	needCT4
	needCT6

	// Of the names that stand for a field in several protocols; no field has these.
	needNW    // nw_src
	needProto // nw_proto
	needTP    // tp_src
	needICMPs // icmp_type

	needs // how many there are
)

// deciding are the words by which needs decide.
var deciding = [...]int{WordVLAN, WordSrc, WordIP, WordTP, WordCT}

// needNames say it to people, in words of the match language.
var needNames = [...]string{
	needVLAN: "dl_vlan or vlan_tci=0x1000/0x1000", needMPLS: "mpls or mplsm", needARP: "arp or rarp", needIP: "ip or ipv6", needIPv4: "ip", needIPv6: "ipv6",
	needTCP: "tcp or tcp6", needUDP: "udp or udp6", needSCTP: "sctp or sctp6", needICMP: "icmp", needICMPv6: "icmp6",
	needND: "icmp6,icmp_type=135 or 136", needNDSolicit: "icmp6,icmp_type=135", needNDAdvert: "icmp6,icmp_type=136",
	needCT:      "ip or ipv6, and a ct_state of a valid connection",
	needCTPorts: "ip or ipv6, a ct_state of a valid connection, and ct_nw_proto=6, 17 or 132",
	needCT4:     "ip, and a ct_state of a valid connection", needCT6: "ipv6, and a ct_state of a valid connection",
	needNW: "ip or arp", needProto: "ip, ipv6 or arp", needTP: "tcp, udp, sctp or icmp, or with a 6", needICMPs: "icmp or icmp6",
}

// Bits of ct_state (ovs-fields(7)).
const (
	ctNew = 1 << iota
	ctEst
	ctRel
	ctRpl
	ctInv
	ctTrk
	ctSnat
	ctDnat

	ctValid = ctNew | ctEst | ctRel | ctRpl | ctSnat | ctDnat
)

// Bits of words that decide.
const (
	bitsEthType = 0xffff
	bitsProto   = 0xff << 56
	bitsLater   = FragLater << 32
	bitsType    = 0xff << 48
	bitsCode    = 0xff << 32
)

// Present tells whether a packet with key k has the field f.
func (f *Field) Present(k *Key) bool { return f.need.present(k) }

func (n need) present(k *Key) bool {
	t := k.EthType()
	ip := t == hdr.TypeIPv4 || t == hdr.TypeIPv6
	l4 := ip && k.Frag()&FragLater == 0
	ct := ip && uint32(k[WordCT]>>32)&ctValid != 0
	switch n {
	case needVLAN:
		return k[WordVLAN]&TagPresent != 0
	case needMPLS:
		return t == hdr.TypeMPLS || t == hdr.TypeMPLSMC
	case needARP:
		return t == hdr.TypeARP || t == hdr.TypeRARP
	case needIP:
		return ip
	case needIPv4:
		return t == hdr.TypeIPv4
	case needIPv6:
		return t == hdr.TypeIPv6
	case needTCP:
		return l4 && k.IPProto() == hdr.ProtoTCP
	case needUDP:
		return l4 && k.IPProto() == hdr.ProtoUDP
	case needSCTP:
		return l4 && k.IPProto() == hdr.ProtoSCTP
	case needICMP:
		return l4 && t == hdr.TypeIPv4 && k.IPProto() == hdr.ProtoICMP
	case needICMPv6:
		return l4 && k.isICMPv6()
	case needND:
		return l4 && k.isICMPv6() && (uint8(k.TPSrc()) == hdr.ICMPv6NS || uint8(k.TPSrc()) == hdr.ICMPv6NA) && k[WordTP]&bitsCode == 0
	case needNDSolicit:
		return l4 && k.isICMPv6() && uint8(k.TPSrc()) == hdr.ICMPv6NS && k[WordTP]&bitsCode == 0
	case needNDAdvert:
		return l4 && k.isICMPv6() && uint8(k.TPSrc()) == hdr.ICMPv6NA && k[WordTP]&bitsCode == 0
	case needCT:
		return ct
	case needCTPorts:
		p := uint8(k[WordCT] >> 8)
		return ct && (p == hdr.ProtoTCP || p == hdr.ProtoUDP || p == hdr.ProtoSCTP)
	case needCT4:
		return ct && t == hdr.TypeIPv4
	case needCT6:
		return ct && t == hdr.TypeIPv6
	case needNW:
		return needIPv4.present(k) || needARP.present(k)
	case needProto:
		return ip || needARP.present(k)
	case needTP:
		return needTCP.present(k) || needUDP.present(k) || needSCTP.present(k) || needICMPs.present(k)
	case needICMPs:
		return needICMP.present(k) || needICMPv6.present(k)
	}
	return true
}

func (k *Key) isICMPv6() bool { return k.EthType() == hdr.TypeIPv6 && k.IPProto() == hdr.ProtoICMPv6 }

// Needs ORs into m the bits of a key by which Present decides.
func (f *Field) Needs(m *Key) { f.need.bits(m) }

func (n need) bits(m *Key) {
	switch n {
	case needNothing:
		return
	case needVLAN:
		m[WordVLAN] |= TagPresent
		return
	}
	m[WordSrc] |= bitsEthType
	switch n {
	case needTCP, needUDP, needSCTP, needICMP, needICMPv6, needTP, needICMPs:
		m[WordIP] |= bitsProto | bitsLater
	case needND, needNDSolicit, needNDAdvert:
		m[WordIP] |= bitsProto | bitsLater
		m[WordTP] |= bitsType | bitsCode
	case needCT, needCT4, needCT6:
		m[WordCT] |= 0xffffffff << 32
	case needCTPorts:
		m[WordCT] |= 0xffffffff<<32 | 0xff<<8
	}
}

// Missing is the prerequisite of f that m lacks, in words of the match language; "" if it has
// all. As in OVS nobody has to say that the packet is not a later fragment, nor that the code of
// neighbour discovery is 0.
func (f *Field) Missing(m *Match) string {
	if f.need.missing(m) {
		return needNames[f.need]
	}
	return ""
}

func (n need) missing(m *Match) bool {
	if n == needNothing {
		return false
	}
	var bits Key
	n.bits(&bits)
	bits[WordIP] &^= bitsLater
	bits[WordTP] &^= bitsCode
	bits[WordCT] &^= 0xffffffff << 32
	for _, w := range deciding {
		if bits[w]&^m.Mask[w] != 0 {
			return true
		}
	}
	if n.present(&m.Key) {
		return false
	}
	// A connection is valid, too, if it is tracked and said not to be invalid.
	state, mask := uint32(m.Key[WordCT]>>32), uint32(m.Mask[WordCT]>>32)
	if n < needCT || n > needCT6 || state&ctTrk == 0 || state&ctInv != 0 || mask&ctInv == 0 {
		return true
	}
	k := m.Key
	k[WordCT] |= ctEst << 32
	return !n.present(&k)
}
