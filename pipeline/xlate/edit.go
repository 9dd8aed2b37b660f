package xlate

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// pushed is a value on the stack. Values stay where they are: a pop only takes the last index back, so
// two ways that a packet may go have each its own stack.
type pushed struct {
	value flow.Value
	below int32
}

// behindType tells of each field whether it is behind the EtherType, behindIP whether it is in an IP
// packet's payload, vlanWord whether it is in a VLAN tag, mplsWord in a label stack entry.
var behindType, behindIP, vlanWord, mplsWord = func() (b, ip, v, m []bool) {
	n := len(flow.Fields())
	b, ip, v, m = make([]bool, n), make([]bool, n), make([]bool, n), make([]bool, n)
	for _, f := range flow.Fields() {
		var needs, bits flow.Key
		f.Needs(&needs)
		f.Set(&bits, f.All())
		v[f.ID()] = bits[flow.WordVLAN] != 0
		m[f.ID()] = bits[flow.WordMPLS] != 0
		b[f.ID()] = needs[flow.WordSrc]&bitsEthType != 0 && !m[f.ID()]
		ip[f.ID()] = needs[flow.WordIP] != 0
	}
	return b, ip, v, m
}()

// has tells whether the packet has a field; that is then a thing that was looked at.
func (x *Xlate) has(f *flow.Field) bool {
	s := &x.cur.packet
	if s.blind && s.nLabel == 0 && behindType[f.ID()] {
		x.fatal(packet.BadHeader, covUnsupported, "an action needs headers behind an MPLS label that was popped")
		return false
	}
	if behindIP[f.ID()] && !isIP(s.key.EthType()) {
		x.wc[flow.WordSrc] |= bitsEthType // that says enough
		return false
	}
	f.Needs(x.wc)
	return f.Present(&s.key)
}

// look1 puts part of a field into the mask.
func (x *Xlate) look1(s *ofp.Subfield) { s.Field.SetBits(x.wc, uint(s.Ofs), uint(s.Bits)) }

func (x *Xlate) read(s *ofp.Subfield) flow.Value {
	x.look1(s)
	return s.Field.GetBits(&x.cur.packet.key, uint(s.Ofs), uint(s.Bits))
}

// write changes part of a field, if the packet has it.
func (x *Xlate) write(s *ofp.Subfield, v flow.Value) {
	m := flow.Ones(uint(s.Bits)).Lsh(uint(s.Ofs))
	x.put(s.Field, v.Lsh(uint(s.Ofs)).And(m), m)
	x.noteSubfield(s)
}

// put changes bits of a field. The field must be there, but for VLAN fields, which make a tag.
func (x *Xlate) put(f *flow.Field, v, mask flow.Value) bool {
	if !x.has(f) || x.failed {
		return false
	}
	k := &x.cur.packet.key
	f.Set(x.wc, mask)
	id := f.ID()
	if vlanWord[id] {
		n := x.cur.packet.nTags
		x.wc[flow.WordVLAN] |= flow.TagPresent
		f.PutMasked(k, v, mask)
		x.cur.packet.tookTag()
		if x.cur.packet.nTags != n {
			x.lookAtTags()
		}
		return true
	}
	f.PutMasked(k, v, mask)
	if mplsWord[id] && x.cur.packet.nLabel > 0 {
		x.cur.packet.labels[x.cur.packet.nLabel-1] = k.MPLS(0)
	}
	return true
}

// transport are the fields that mod_tp_src and mod_tp_dst may mean.
var transport = map[*flow.Field][]*flow.Field{
	flow.FieldByName("tcp_src"): {flow.FieldByName("tcp_src"), flow.FieldByName("udp_src"), flow.FieldByName("sctp_src")},
	flow.FieldByName("tcp_dst"): {flow.FieldByName("tcp_dst"), flow.FieldByName("udp_dst"), flow.FieldByName("sctp_dst")},
}

func (x *Xlate) setField(a *ofp.SetField) {
	f := a.Field
	if a.Form == ofp.FormMod {
		for _, t := range transport[f] {
			if x.has(t) {
				f = t
			}
		}
	}
	if !x.failed && !x.put(f, a.Value, a.Mask) && !x.failed {
		x.noteUnmet(f)
	}
}

func (x *Xlate) move(a *ofp.Move) {
	if !x.has(a.Src.Field) || !x.has(a.Dst.Field) {
		if !x.failed {
			x.noteWarn("unmet prerequisites, move ignored")
		}
		return
	}
	x.write(&a.Dst, x.read(&a.Src))
}

func (x *Xlate) stackPush(s *ofp.Subfield) {
	if x.nStack == maxStack {
		x.fatal(packet.TooDeep, covStack, "more than 1024 values pushed on the stack")
		return
	}
	x.stack[x.nStack] = pushed{x.read(s), x.cur.stack}
	x.cur.stack = int32(x.nStack)
	x.nStack++
}

func (x *Xlate) stackPop(s *ofp.Subfield) {
	c := &x.cur
	if c.stack < 0 {
		x.noteError("stack underflow")
		return
	}
	p := &x.stack[c.stack]
	c.stack = p.below
	x.write(s, p.value)
}

// tagBits changes bits of the outer tag's TCI; a packet without one gets it.
func (x *Xlate) tagBits(v, mask uint32) {
	s := &x.cur.packet
	x.wc[flow.WordVLAN] |= flow.TagPresent | uint64(mask)<<32
	if s.nTags == 0 {
		s.pushTag(hdr.TypeVLAN<<16 | v)
		return
	}
	t := &s.tags[s.nTags-1]
	*t = *t&^mask | v
	s.showTags()
}

// decTTL decrements the TTL. A packet that has come to its end goes no further in this list.
func (x *Xlate) decTTL() {
	c := &x.cur
	s := &c.packet
	x.wc[flow.WordSrc] |= bitsEthType
	if s.blind && s.nLabel == 0 {
		x.fatal(packet.BadHeader, covUnsupported, "dec_ttl needs headers behind an MPLS label that was popped")
		return
	}
	if !isIP(s.key.EthType()) {
		return
	}
	x.wc[flow.WordIP] |= bitsTTL
	ttl := s.key.TTL()
	if ttl > 1 {
		s.key.SetTTL(ttl - 1)
		return
	}
	if s.key.EthType() == hdr.TypeIPv4 {
		x.noteWarn("IPv4 decrement TTL exception")
	} else {
		x.noteWarn("IPv6 decrement TTL exception")
	}
	c.why = packet.TTLExpired
	x.stop()
}

func (x *Xlate) setMPLSTTL(ttl uint8) {
	x.wc[flow.WordSrc] |= bitsEthType
	if s := &x.cur.packet; s.nLabel > 0 {
		x.wc[flow.WordMPLS] |= 0xff << 32
		l := &s.labels[s.nLabel-1]
		*l = *l&^0xff | uint32(ttl)
		s.showLabels()
	}
}

func (x *Xlate) decMPLSTTL() {
	c := &x.cur
	s := &c.packet
	x.wc[flow.WordSrc] |= bitsEthType
	if s.nLabel > 0 {
		x.wc[flow.WordMPLS] |= 0xff << 32
		if l := &s.labels[s.nLabel-1]; *l&0xff > 1 {
			*l--
			s.showLabels()
			return
		}
	}
	x.noteWarn("MPLS decrement TTL exception")
	c.why = packet.TTLExpired
	x.stop()
}

// pushMPLS pushes a label stack entry: a copy of the outer one, or one made of what IP says.
func (x *Xlate) pushMPLS(t uint16) {
	s := &x.cur.packet
	x.lookAtLabels()
	if s.nLabel == maxLabels {
		x.fatal(packet.NoRoom, covMPLS, "more than 8 MPLS labels")
		return
	}
	lse := uint32(bitsBottom | 64)
	if s.nLabel > 0 {
		lse = s.labels[s.nLabel-1] &^ bitsBottom
	} else {
		if s.key.EthType() == hdr.TypeIPv6 {
			lse |= 2 << 12 // explicit null
		}
		if isIP(s.key.EthType()) && !s.blind {
			x.wc[flow.WordIP] |= 0xfc<<48 | bitsTTL
			lse |= uint32(s.key.TOS()>>2) & 7 << 9
			if ttl := s.key.TTL(); ttl != 0 {
				lse = lse&^0xff | uint32(ttl)
			}
		}
		if !s.blind {
			s.hide()
		} else {
			s.underType = s.key.EthType()
		}
	}
	s.labels[s.nLabel] = lse
	s.nLabel++
	s.key.SetEthType(t)
	s.showLabels()
}

// popMPLS takes an entry off. If that was the last one of those that the packet came with, nobody knows
// what is behind it.
func (x *Xlate) popMPLS(t uint16) {
	s := &x.cur.packet
	x.lookAtLabels()
	switch {
	case s.nLabel == 0:
		return
	case s.nLabel == keyLabels && s.labels[0]&bitsBottom == 0:
		x.fatal(packet.BadHeader, covMPLS, "pop_mpls of a packet with more than 3 labels")
		return
	case s.nLabel == 1 && !s.blind && t != s.underType:
		x.fatal(packet.BadHeader, covUnsupported, "pop_mpls to another EtherType than that of the packet")
		return
	}
	if last := s.labels[s.nLabel-1]&bitsBottom != 0; last == isMPLS(t) {
		x.fatal(packet.BadHeader, covUnsupported, "pop_mpls to an EtherType that the bottom-of-stack bit contradicts")
		return
	}
	s.nLabel--
	s.key.SetEthType(t)
	if s.nLabel == 0 && !s.blind {
		s.show()
	}
	s.showLabels()
}
