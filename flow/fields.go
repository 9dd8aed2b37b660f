package flow

import "github.com/gvswitch/gvswitch/internal/hdr"

// InPort is the datapath port the packet came from.
func (k *Key) InPort() uint32 { return uint32(k[WordPort] >> 32) }

// RecircID is where a recirculated packet goes on; 0 for a new one.
func (k *Key) RecircID() uint32 { return uint32(k[WordPort]) }

// EthDst is the destination address.
func (k *Key) EthDst() hdr.MAC { return hdr.MAC(k[WordDst] >> 16) }

// EthSrc is the source address.
func (k *Key) EthSrc() hdr.MAC { return hdr.MAC(k[WordSrc] >> 16) }

// EthType is the EtherType behind at most two tags, or TypeNone.
func (k *Key) EthType() uint16 { return uint16(k[WordSrc]) }

// VLAN is the outer tag; both 0 without one.
func (k *Key) VLAN() (tpid, tci uint16) {
	return uint16(k[WordVLAN] >> 48), uint16(k[WordVLAN] >> 32)
}

// InnerVLAN is the second tag; both 0 without one.
func (k *Key) InnerVLAN() (tpid, tci uint16) {
	return uint16(k[WordVLAN] >> 16), uint16(k[WordVLAN])
}

// VID is the outer tag's VLAN id; 0 without a tag.
func (k *Key) VID() uint16 { return uint16(k[WordVLAN]>>32) & hdr.VIDMask }

// IPProto is the L4 protocol, behind IPv6 extension headers; the operation of an ARP
// packet if that is less than 256.
func (k *Key) IPProto() uint8 { return uint8(k[WordIP] >> 56) }

// TOS is DSCP and ECN, or the IPv6 traffic class.
func (k *Key) TOS() uint8 { return uint8(k[WordIP] >> 48) }

// TTL is the time to live, or the hop limit.
func (k *Key) TTL() uint8 { return uint8(k[WordIP] >> 40) }

// Frag is FragAny and FragLater.
func (k *Key) Frag() uint8 { return uint8(k[WordIP] >> 32) }

// Label is the IPv6 flow label.
func (k *Key) Label() uint32 { return uint32(k[WordIP]) }

// IPv4Src is the IPv4 source address, or ARP's sender address.
func (k *Key) IPv4Src() uint32 { return uint32(k[WordIPSrc] >> 32) }

// IPv4Dst is the IPv4 destination address, or ARP's target address.
func (k *Key) IPv4Dst() uint32 { return uint32(k[WordIPSrc]) }

// IPv6Src is the IPv6 source address in two halves.
func (k *Key) IPv6Src() (hi, lo uint64) { return k[WordIPSrc], k[WordIPSrcLo] }

// IPv6Dst is the IPv6 destination address in two halves.
func (k *Key) IPv6Dst() (hi, lo uint64) { return k[WordIPDst], k[WordIPDstLo] }

// TPSrc is the source port, or the ICMP, ICMPv6 or IGMP type.
func (k *Key) TPSrc() uint16 { return uint16(k[WordTP] >> 48) }

// TPDst is the destination port, or the ICMP, ICMPv6 or IGMP code.
func (k *Key) TPDst() uint16 { return uint16(k[WordTP] >> 32) }

// TCPFlags are the TCP flags and reserved bits, 12 bits.
func (k *Key) TCPFlags() uint16 { return uint16(k[WordTP] >> 16) }

// SHA is ARP's sender hardware address, or ND's source link-layer address.
func (k *Key) SHA() hdr.MAC { return hdr.MAC(k[WordSHA] >> 16) }

// THA is ARP's target hardware address, or ND's target link-layer address.
func (k *Key) THA() hdr.MAC { return hdr.MAC(k[WordTHA] >> 16) }

// NDTarget is the target of a neighbour solicitation or advertisement.
func (k *Key) NDTarget() (hi, lo uint64) { return k[WordTarget], k[WordTargetLo] }

// IGMPGroup is the group address of an IGMP message.
func (k *Key) IGMPGroup() uint32 { return uint32(k[WordTarget] >> 32) }

// NDReserved is the word of flags in a neighbour advertisement.
func (k *Key) NDReserved() uint32 { return uint32(k[WordMPLS2]) }

// MPLS is label stack entry i, 0 to 2; 0 when there is none.
func (k *Key) MPLS(i int) uint32 {
	switch i {
	case 0:
		return uint32(k[WordMPLS] >> 32)
	case 1:
		return uint32(k[WordMPLS])
	case 2:
		return uint32(k[WordMPLS2] >> 32)
	}
	return 0
}
