package flow

import "github.com/gvswitch/gvswitch/internal/hdr"

// set replaces the bits bits of word w that begin at shift.
func (k *Key) set(w, shift, bits uint, v uint64) {
	m := uint64(1)<<bits - 1
	k[w] = k[w]&^(m<<shift) | v&m<<shift
}

// SetInPort changes the datapath port.
func (k *Key) SetInPort(v uint32) { k.set(WordPort, 32, 32, uint64(v)) }

// SetRecircID changes where the packet goes on.
func (k *Key) SetRecircID(v uint32) { k.set(WordPort, 0, 32, uint64(v)) }

// SetEthDst changes the destination address.
func (k *Key) SetEthDst(m hdr.MAC) { k.set(WordDst, 16, 48, uint64(m)) }

// SetEthSrc changes the source address.
func (k *Key) SetEthSrc(m hdr.MAC) { k.set(WordSrc, 16, 48, uint64(m)) }

// SetEthType changes the EtherType behind the tags.
func (k *Key) SetEthType(t uint16) { k.set(WordSrc, 0, 16, uint64(t)) }

// SetVLAN changes the outer tag; TPID 0 takes it away.
func (k *Key) SetVLAN(tpid, tci uint16) { k.set(WordVLAN, 32, 32, uint64(tpid)<<16|uint64(tci)) }

// SetInnerVLAN changes the second tag; TPID 0 takes it away.
func (k *Key) SetInnerVLAN(tpid, tci uint16) { k.set(WordVLAN, 0, 32, uint64(tpid)<<16|uint64(tci)) }

// SetIPProto changes the L4 protocol.
func (k *Key) SetIPProto(v uint8) { k.set(WordIP, 56, 8, uint64(v)) }

// SetTOS changes DSCP and ECN.
func (k *Key) SetTOS(v uint8) { k.set(WordIP, 48, 8, uint64(v)) }

// SetTTL changes the time to live.
func (k *Key) SetTTL(v uint8) { k.set(WordIP, 40, 8, uint64(v)) }

// SetFrag changes the fragment bits.
func (k *Key) SetFrag(v uint8) { k.set(WordIP, 32, 8, uint64(v)) }

// SetLabel changes the IPv6 flow label.
func (k *Key) SetLabel(v uint32) { k.set(WordIP, 0, 32, uint64(v&0xfffff)) }

// SetIPv4Src changes the IPv4 source address.
func (k *Key) SetIPv4Src(v uint32) { k.set(WordIPSrc, 32, 32, uint64(v)) }

// SetIPv4Dst changes the IPv4 destination address.
func (k *Key) SetIPv4Dst(v uint32) { k.set(WordIPSrc, 0, 32, uint64(v)) }

// SetIPv6Src changes the IPv6 source address.
func (k *Key) SetIPv6Src(hi, lo uint64) { k[WordIPSrc], k[WordIPSrcLo] = hi, lo }

// SetIPv6Dst changes the IPv6 destination address.
func (k *Key) SetIPv6Dst(hi, lo uint64) { k[WordIPDst], k[WordIPDstLo] = hi, lo }

// SetTPSrc changes the source port or the ICMP type.
func (k *Key) SetTPSrc(v uint16) { k.set(WordTP, 48, 16, uint64(v)) }

// SetTPDst changes the destination port or the ICMP code.
func (k *Key) SetTPDst(v uint16) { k.set(WordTP, 32, 16, uint64(v)) }

// SetTCPFlags changes the TCP flags.
func (k *Key) SetTCPFlags(v uint16) { k.set(WordTP, 16, 16, uint64(v&0xfff)) }

// SetSHA changes ARP's sender address or ND's source link-layer address.
func (k *Key) SetSHA(m hdr.MAC) { k.set(WordSHA, 16, 48, uint64(m)) }

// SetTHA changes ARP's target address or ND's target link-layer address.
func (k *Key) SetTHA(m hdr.MAC) { k.set(WordTHA, 16, 48, uint64(m)) }

// SetNDTarget changes the neighbour discovery target.
func (k *Key) SetNDTarget(hi, lo uint64) { k[WordTarget], k[WordTargetLo] = hi, lo }

// SetIGMPGroup changes the IGMP group address.
func (k *Key) SetIGMPGroup(v uint32) { k.set(WordTarget, 32, 32, uint64(v)) }

// SetNDReserved changes the flags of a neighbour advertisement.
func (k *Key) SetNDReserved(v uint32) { k.set(WordMPLS2, 0, 32, uint64(v)) }

// SetMPLS changes label stack entry i, 0 to 2.
func (k *Key) SetMPLS(i int, lse uint32) {
	switch i {
	case 0:
		k.set(WordMPLS, 32, 32, uint64(lse))
	case 1:
		k.set(WordMPLS, 0, 32, uint64(lse))
	case 2:
		k.set(WordMPLS2, 32, 32, uint64(lse))
	}
}
