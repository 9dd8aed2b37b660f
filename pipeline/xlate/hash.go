package xlate

import (
	"math/bits"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// mix takes a word into a hash. Hashes are the same in every process: a flow stays with
// its link when the switch is started again.
func mix(h, w uint64) uint64 {
	hi, lo := bits.Mul64(h^w^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return hi ^ lo
}

func fold(h uint64) uint32 {
	h = mix(h, 0xa0761d6478bd642f)
	return uint32(h>>32) ^ uint32(h)
}

// wordBits takes bits of a word of the key into a hash, having looked at them.
func (x *Xlate) wordBits(h uint64, w int, mask uint64) uint64 {
	x.wc[w] |= mask
	return mix(h, x.cur.packet.key[w]&mask)
}

// hash is that of the fields that a bundle or multipath action names, or "l4" for a group.
func (x *Xlate) hash(fields string, basis uint64) uint32 {
	h := mix(basis, 0)
	k := &x.cur.packet.key
	switch fields {
	case "eth_src":
		return fold(x.wordBits(h, flow.WordSrc, bitsAddr))
	case "nw_src", "nw_dst":
		return fold(x.hashAddr(h, fields == "nw_src"))
	case "symmetric_l3l4":
		return fold(x.hashL3(h, false, true))
	case "symmetric_l3l4+udp":
		return fold(x.hashL3(h, true, true))
	}
	// symmetric_l4, and that with UDP ports.
	x.wc[flow.WordDst] |= bitsAddr
	x.wc[flow.WordSrc] |= bitsAddr
	h = mix(h, (k[flow.WordDst]^k[flow.WordSrc])&bitsAddr)
	h = x.wordBits(h, flow.WordVLAN, flow.TagPresent|0xfff<<32)
	return fold(x.hashL3(h, fields == "l4", false))
}

// hashAddr takes one address of an IP packet into a hash.
func (x *Xlate) hashAddr(h uint64, src bool) uint64 {
	x.wc[flow.WordSrc] |= bitsEthType
	switch t := x.cur.packet.key.EthType(); {
	case t == hdr.TypeIPv4 && src:
		return x.wordBits(h, flow.WordIPSrc, 0xffffffff<<32)
	case t == hdr.TypeIPv4:
		return x.wordBits(h, flow.WordIPSrc, 0xffffffff)
	case t == hdr.TypeIPv6 && src:
		return x.wordBits(x.wordBits(h, flow.WordIPSrc, ^uint64(0)), flow.WordIPSrcLo, ^uint64(0))
	case t == hdr.TypeIPv6:
		return x.wordBits(x.wordBits(h, flow.WordIPDst, ^uint64(0)), flow.WordIPDstLo, ^uint64(0))
	}
	return h
}

// hashL3 takes an IP packet's addresses, protocol and TCP and SCTP ports into a hash, so that both directions
// have the same. A fragment's ports do not count: not all fragments have them.
func (x *Xlate) hashL3(h uint64, udp, onlyIP bool) uint64 {
	k := &x.cur.packet.key
	t := k.EthType()
	if onlyIP {
		x.wc[flow.WordSrc] |= bitsEthType
	} else {
		h = x.wordBits(h, flow.WordSrc, bitsEthType)
	}
	switch t {
	case hdr.TypeIPv4:
		x.wc[flow.WordIPSrc] = ^uint64(0)
		h = mix(h, uint64(k.IPv4Src()^k.IPv4Dst()))
	case hdr.TypeIPv6:
		for w := flow.WordIPSrc; w <= flow.WordIPDstLo; w++ {
			x.wc[w] = ^uint64(0)
		}
		h = mix(mix(h, k[flow.WordIPSrc]^k[flow.WordIPDst]), k[flow.WordIPSrcLo]^k[flow.WordIPDstLo])
	default:
		return h
	}
	h = x.wordBits(h, flow.WordIP, bitsProto)
	switch p := k.IPProto(); {
	case p == hdr.ProtoTCP, p == hdr.ProtoSCTP, p == hdr.ProtoUDP && udp:
		x.wc[flow.WordIP] |= bitsFrag
		if k.Frag() == 0 {
			x.wc[flow.WordTP] |= 0xffffffff << 32
			h = mix(h, uint64(k.TPSrc()^k.TPDst()))
		}
	}
	return h
}

// groupHash is the hash that a select group chooses by.
func (x *Xlate) groupHash(g *rules.Group) uint32 {
	if g.Def.Method != "hash" || len(g.Def.Fields) == 0 {
		return x.hash("l4", uint64(g.Def.ID)<<32^g.Def.Param)
	}
	h := mix(g.Def.Param, uint64(g.Def.ID))
	k := &x.cur.packet.key
	for i, f := range g.Def.Fields {
		if !x.has(f) {
			continue
		}
		m := f.All()
		if i < len(g.Def.FieldMask) && !g.Def.FieldMask[i].IsZero() {
			m = g.Def.FieldMask[i]
		}
		f.Set(x.wc, m)
		v := f.Get(k).And(m)
		h = mix(mix(h, v.Hi), v.Lo)
	}
	return fold(h)
}

// multipath stores the number of a link.
func (x *Xlate) multipath(a *ofp.Multipath) {
	n := uint32(a.Links)
	h := x.hash(a.Fields, uint64(a.Basis))
	link := uint32(0)
	switch a.Algorithm {
	case "hash_threshold":
		link = uint32(uint64(h) * uint64(n) >> 32)
	case "hrw":
		if !x.spend(int(n / 16)) {
			return
		}
		link = highest(h, n)
	case "iter_hash":
		link = iterate(h, n, a.Arg)
	default:
		if n > 0 {
			link = h % n
		}
	}
	x.write(&a.Dst, flow.Value{Lo: uint64(link)})
}

// highest is the link with the highest random weight.
func highest(h, n uint32) uint32 {
	best, link := uint32(0), uint32(0)
	for i := range n {
		if w := fold(mix(uint64(h), uint64(i))); i == 0 || w > best {
			best, link = w, i
		}
	}
	return link
}

// iterate hashes into a number of links that is a power of 2 until the result is one of n links, or modulo n
// after enough attempts (ovs-actions(7), iter_hash).
func iterate(h, n, arg uint32) uint32 {
	modulo := uint32(1) << bits.Len32(max(n, 1)-1)
	if arg > n && arg < 1<<16 {
		modulo = 1 << bits.Len32(arg-1)
	}
	for i := range uint32(64) {
		if l := fold(mix(uint64(h), uint64(i))) & (modulo - 1); l < n {
			return l
		}
	}
	return h % max(n, 1)
}

// bundle outputs to one of the members that are up, or stores its number.
func (x *Xlate) bundle(a *ofp.Bundle) {
	c := &x.cur
	port := ofp.PortNone
	if !x.spend(len(a.Members)) {
		return
	}
	if a.Algorithm == "active_backup" {
		for _, m := range a.Members {
			if x.live.PortUp(m) {
				port = m
				break
			}
		}
	} else {
		h := x.hash(a.Fields, uint64(a.Basis))
		best, found := uint32(0), false
		for i, m := range a.Members {
			if w := fold(mix(uint64(h), uint64(i))); x.live.PortUp(m) && (!found || w > best) {
				best, found, port = w, true, m
			}
		}
	}
	if a.Dst.Field != nil {
		x.write(&a.Dst, flow.Value{Lo: uint64(port)})
		return
	}
	if port == ofp.PortNone {
		c.why = packet.NoBucket
		x.noteDetail("no live member")
		return
	}
	x.output(port, 0)
}
