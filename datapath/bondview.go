package datapath

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/packet"
)

// bondView is what poll threads know of a bond.
type bondView struct {
	o       *Bond
	id      uint16
	hash    bondHash
	taking  bondTaking
	basis   uint64
	active  *portView          // nil: none
	buckets [buckets]*portView // nil: none
}

// bondHash is what a member is chosen by, at the moment.
type bondHash uint8

const (
	hashNone bondHash = iota // the active member
	hashL2                   // source address and VLAN
	hashL4                   // addresses and ports of layers 2 to 4
	hashShut                 // nothing is sent: LACP has not found a partner
)

// bondTaking is what is taken of what comes in.
type bondTaking uint8

const (
	takeActive  bondTaking = iota // by the active member
	takeUnicast                   // the same, and by others what is not multicast
	takeSLB                       // the same, unless it is one's own that comes back
	takeEnabled                   // by members that are enabled: the other side knows of the bond
	takeNothing
)

// viewBonds gives the bonds of a snapshot to the views of their members. d.mu is held.
func (d *Datapath) viewBonds(ports []*portView) {
	for _, o := range d.bonds.list {
		b := &bondView{o: o, id: o.id, basis: uint64(o.cfg.HashBasis)}
		b.hash, b.taking = o.ways()
		var leader *portView
		for _, m := range o.members {
			v := ports[m.p.id]
			if v == nil {
				continue
			}
			if leader == nil {
				leader = v
				v.br.hashed = v.br.hashed || b.hash == hashL2 || b.hash == hashL4 || b.taking == takeSLB
				v.br.slb = v.br.slb || b.taking == takeSLB
			}
			v.bond, v.lid, v.lacp = b, leader.id, m.lacp != nil
			if v.lacp {
				v.ownMAC = word(m.address())
			}
			v.enabled, v.active = m.enabled, m.enabled && o.active == m
			if m.enabled && v.ready && !v.of.NoFwd {
				if o.active == m {
					b.active = v
				}
				for i := range b.buckets {
					if o.assign[i] == m {
						b.buckets[i] = v
					}
				}
			}
		}
	}
}

// ways says how a bond sends and takes now.
func (o *Bond) ways() (bondHash, bondTaking) {
	c := &o.cfg
	mode := c.Mode
	switch {
	case o.group != nil && o.group.Negotiated():
		return [...]bondHash{hashNone, hashL2, hashL4}[mode], takeEnabled
	case o.group != nil && c.FallbackAB:
		mode = BondActiveBackup
	case o.group != nil, mode == BondTCP:
		return hashShut, takeNothing
	}
	switch {
	case mode == BondSLB:
		return hashL2, takeSLB
	case c.AllMembers:
		return hashNone, takeUnicast
	default:
		return hashNone, takeActive
	}
}

// refuses gives the reason for which a frame to dst (first byte lowest) that came in by v is not taken,
// DropNone if there is none. What takeSLB asks beyond that is for reflected to find out.
func (v *portView) refuses(dst uint64) packet.DropReason {
	ok := false
	switch v.bond.taking {
	case takeEnabled:
		ok = v.enabled
	case takeActive:
		ok = v.active
	case takeUnicast, takeSLB:
		ok = v.active || dst&1 == 0
	}
	if ok {
		return packet.DropNone
	}
	return packet.BondInactive
}

// first is the member for a choice that depends on nothing else, nil if there is none.
func (b *bondView) first() *portView {
	if b.hash == hashNone {
		return b.active
	}
	return nil
}

// member is the member that a packet with key k leaves by, which is in VLAN vid of the bridge, and its bucket.
// mask gets what was looked at.
func (b *bondView) member(k *flow.Key, vid uint16, mask *flow.Key) (*portView, uint8) {
	switch b.hash {
	case hashNone:
		return b.active, 0
	case hashL2:
		n := bucketL2(b.basis, wordOf(k[flow.WordSrc]>>16), vid)
		return b.buckets[n], n
	case hashL4:
		n := b.bucketL4(k, vid, mask)
		return b.buckets[n], n
	}
	return nil, 0
}

// bucketL2 is the bucket of an address (first byte lowest) in a VLAN.
func bucketL2(basis, mac uint64, vid uint16) uint8 {
	return foldBucket(mix(mix(basis, mac), uint64(vid)))
}

func foldBucket(h uint64) uint8 {
	h ^= h >> 32
	h ^= h >> 16
	return uint8(h ^ h>>8)
}

// Bits of a key that hashing looks at, beyond those that NORMAL has looked at: MAC addresses and VLAN.
const (
	typeBits  uint64 = 0xffff
	protoBits uint64 = 0xff << 56
	fragBits  uint64 = 0xff << 32
	tpBits    uint64 = 0xffffffff << 32
)

// bucketL4 hashes so that both directions of a connection are in one bucket. A fragment's ports do not
// count, for not all fragments have them.
func (b *bondView) bucketL4(k *flow.Key, vid uint16, mask *flow.Key) uint8 {
	t := k.EthType()
	mask[flow.WordSrc] |= typeBits
	h := mix(mix(b.basis, (k[flow.WordSrc]^k[flow.WordDst])>>16), uint64(vid)<<16|uint64(t))
	switch t {
	case hdr.TypeIPv4:
		mask[flow.WordIPSrc] = ^uint64(0)
		h = mix(h, uint64(k.IPv4Src()^k.IPv4Dst()))
	case hdr.TypeIPv6:
		for w := flow.WordIPSrc; w <= flow.WordIPDstLo; w++ {
			mask[w] = ^uint64(0)
		}
		h = mix(mix(h, k[flow.WordIPSrc]^k[flow.WordIPDst]), k[flow.WordIPSrcLo]^k[flow.WordIPDstLo])
	default:
		return foldBucket(h)
	}
	mask[flow.WordIP] |= protoBits
	h = mix(h, uint64(k.IPProto()))
	switch k.IPProto() {
	case hdr.ProtoTCP, hdr.ProtoUDP, hdr.ProtoSCTP:
		mask[flow.WordIP] |= fragBits
		if k.Frag() == 0 {
			mask[flow.WordTP] |= tpBits
			h = mix(h, uint64(k.TPSrc()^k.TPDst()))
		}
	}
	return foldBucket(h)
}

// gratuitous tells whether a packet is an ARP by which a host says where it is, to all. mask gets what
// was looked at.
func gratuitous(k *flow.Key, mask *flow.Key) bool {
	mask[flow.WordSrc] |= typeBits
	if k.EthType() != hdr.TypeARP || k[flow.WordDst]>>16 != 1<<48-1 {
		return false
	}
	mask[flow.WordIP] |= protoBits
	switch k.IPProto() {
	case arpReply:
		return true
	case arpRequest:
		mask[flow.WordIPSrc] = ^uint64(0)
		return k.IPv4Src() == k.IPv4Dst()
	}
	return false
}

const (
	arpRequest = 1
	arpReply   = 2
)
