package flow

import "github.com/gvswitch/gvswitch/internal/hdr"

// SetEthDst changes the destination address.
func (k *Key) SetEthDst(m hdr.MAC) { k.set(WordDst, 16, 48, uint64(m)) }

// SetEthSrc changes the source address.
func (k *Key) SetEthSrc(m hdr.MAC) { k.set(WordSrc, 16, 48, uint64(m)) }

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

// SetTOS changes DSCP and ECN.
func (k *Key) SetTOS(v uint8) { k.set(WordIP, 48, 8, uint64(v)) }

// SetFrag changes the fragment bits.
func (k *Key) SetFrag(v uint8) { k.set(WordIP, 32, 8, uint64(v)) }
