package xlate

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
)

// region is a header field in a word of a key: when one of its bits is to change, all of them that
// were looked at are set.
type region struct {
	word int
	mask uint64
}

// Regions of the link layer, and of what is behind it.
var (
	l2Regions = [...]region{{flow.WordDst, bitsAddr}, {flow.WordSrc, bitsAddr}}
	l3Regions = [...]region{
		{flow.WordIP, bitsProto},
		{flow.WordIP, 0xff << 48},
		{flow.WordIP, bitsTTL},
		{flow.WordIP, 0xfffff},
		{flow.WordIPSrc, 0xffffffff << 32},
		{flow.WordIPSrc, 0xffffffff},
		{flow.WordIPSrcLo, ^uint64(0)},
		{flow.WordIPDst, ^uint64(0)},
		{flow.WordIPDstLo, ^uint64(0)},
		{flow.WordTP, 0xffff << 48},
		{flow.WordTP, 0xffff << 32},
		{flow.WordSHA, bitsAddr},
		{flow.WordTHA, bitsAddr},
		{flow.WordTarget, ^uint64(0)},
		{flow.WordTargetLo, ^uint64(0)},
		{ndWord, 0xffffffff},
	}
	metaRegions = [...]region{{flow.WordMark, 0xffffffff}, {flow.WordQueue, 0xffffffff << 32}}
)

// emit appends an action and gives its index.
func (x *Xlate) emit(a odp.Action) int {
	n := len(x.list)
	if n == maxActions {
		x.fatal(packet.TooManyActions, covOversize, "the list would have more than 4096 actions")
		return n - 1
	}
	x.list = x.list[:n+1]
	x.list[n] = a
	return n
}

// commit brings the packet to where it should be, so that it can be sent. All bits that an
// action wrote are in the mask, and no others differ: so the actions are those of every
// packet that agrees with the mask.
func (x *Xlate) commit() {
	s, b := &x.cur.packet, &x.cur.base
	for i := range l2Regions {
		r := &l2Regions[i]
		if d := s.key[r.word] ^ b.key[r.word]; d&r.mask != 0 {
			x.set(r.word, s.key[r.word], (d|x.wc[r.word])&r.mask)
			b.key[r.word] = b.key[r.word]&^r.mask | s.key[r.word]&r.mask
		}
	}
	x.commitTags(s, b)
	x.commitL3(s, b)
	for i := range metaRegions {
		r := &metaRegions[i]
		if d := s.key[r.word] ^ b.key[r.word]; d&r.mask != 0 {
			x.set(r.word, s.key[r.word], r.mask)
			b.key[r.word] = b.key[r.word]&^r.mask | s.key[r.word]&r.mask
		}
	}
}

func (x *Xlate) set(word int, v, mask uint64) {
	x.emit(odp.Action{Op: odp.Set, Word: uint16(word), Value: v & mask, Mask: mask})
}

// commitTags pops the tags that should not be there and pushes those that are missing.
func (x *Xlate) commitTags(s, b *packetState) {
	same := uint8(0)
	for same < s.nTags && same < b.nTags && s.tags[same] == b.tags[same] {
		same++
	}
	if same == s.nTags && same == b.nTags {
		return
	}
	x.lookAtTags()
	for b.nTags > same {
		x.emit(odp.Action{Op: odp.PopVLAN})
		b.nTags--
	}
	for b.nTags < s.nTags {
		t := s.tags[b.nTags]
		x.emit(odp.Action{Op: odp.PushVLAN, Value: uint64(t)})
		b.tags[b.nTags] = t
		b.nTags++
	}
}

// commitL3 does the labels, and what is behind them, which can only be reached when there are none.
func (x *Xlate) commitL3(s, b *packetState) {
	if b.nLabel == 0 && s.nLabel == 0 && b.key.EthType() == s.key.EthType() {
		x.commitHeaders(s, b) // the usual case
		return
	}
	differ := false
	for i := range l3Regions {
		r := &l3Regions[i]
		differ = differ || (s.l3(r.word)^b.l3(r.word))&r.mask != 0
	}
	same := uint8(0)
	if !differ || b.nLabel == 0 {
		for same < s.nLabel && same < b.nLabel && s.labels[same] == b.labels[same] {
			same++
		}
		if same > 0 && same == s.nLabel && same == b.nLabel && s.key.EthType() != b.key.EthType() {
			same-- // 0x8847 is to be 0x8848: a push can do that
		}
	}
	if same+1 == s.nLabel && s.nLabel == b.nLabel && s.key.EthType() == b.key.EthType() && !differ {
		i := s.nLabel - 1
		d := s.labels[i] ^ b.labels[i]
		x.set(flow.WordMPLS, uint64(s.labels[i])<<32, uint64(d|uint32(x.wc[flow.WordMPLS]>>32))<<32)
		b.labels[i] = s.labels[i]
		return
	}
	for b.nLabel > same {
		left := b.key.EthType()
		if b.nLabel == 1 {
			left = s.l3Type()
			b.show()
		}
		b.key.SetEthType(left)
		b.nLabel--
		x.emit(odp.Action{Op: odp.PopMPLS, Value: uint64(left)})
	}
	if b.nLabel == 0 {
		x.commitHeaders(s, b)
	}
	for b.nLabel < s.nLabel {
		if b.nLabel == 0 {
			b.hide()
			b.underType = s.underType
		}
		l := s.labels[b.nLabel]
		x.emit(odp.Action{Op: odp.PushMPLS, Value: uint64(s.key.EthType())<<32 | uint64(l)})
		b.labels[b.nLabel] = l
		b.nLabel++
		b.key.SetEthType(s.key.EthType())
	}
}

// commitHeaders sets what differs behind the link layer of a packet without labels. s may have labels.
func (x *Xlate) commitHeaders(s, b *packetState) {
	if s.blind {
		return
	}
	for i := range l3Regions {
		r := &l3Regions[i]
		v := s.l3(r.word)
		d := v ^ b.l3(r.word)
		if d&r.mask == 0 {
			continue
		}
		m := r.mask
		if r.word == flow.WordIPSrc && s.l3Type() == hdr.TypeIPv6 {
			m = ^uint64(0) // half an address
		}
		x.set(r.word, v, (d|x.wc[r.word])&m)
		b.setL3(r.word, b.l3(r.word)&^m|v&m)
	}
}

// lookAtTags puts the tags that the packet came with into the mask.
func (x *Xlate) lookAtTags() {
	w := x.orig[flow.WordVLAN]
	m := uint64(flow.TagPresent)
	if w&flow.TagPresent != 0 {
		m = 0xffffffff<<32 | 1<<31
		if w&(1<<31) != 0 {
			m = ^uint64(0)
		}
	}
	x.wc[flow.WordVLAN] |= m
}

// lookAtLabels does it for the EtherType and the labels.
func (x *Xlate) lookAtLabels() {
	x.wc[flow.WordSrc] |= bitsEthType
	if isMPLS(x.orig.EthType()) {
		x.wc[flow.WordMPLS] = ^uint64(0)
		x.wc[flow.WordMPLS2] |= 0xffffffff << 32
	}
}
