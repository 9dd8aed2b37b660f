package xlate

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/hdr"
)

const (
	maxTags   = 8 // VLAN tags of a packet that are kept account of
	maxLabels = 8 // and label stack entries
	keyLabels = 3 // of which a key shows the outer ones
)

// Bits of a key's words.
const (
	bitsInPort  = 0xffffffff << 32
	bitsEthType = 0xffff
	bitsAddr    = 0xffffffffffff << 16
	bitsProto   = 0xff << 56
	bitsTTL     = 0xff << 40
	bitsFrag    = 0xff << 32
	bitsPorts   = 0xffffffff << 32 // of WordTP
	bitsBottom  = 0x100            // in a label stack entry
)

// l3Words are the words of a key that say what is behind the EtherType; the last one only with its
// low half.
const (
	l3First = flow.WordIP
	l3Last  = flow.WordTargetLo
	ndWord  = flow.WordMPLS2
)

// packetState is a packet as it is, or should be, at a point of the list: its key, and the tags and labels
// below those that the key shows. Outermost last.
type packetState struct {
	key    flow.Key
	tags   [maxTags]uint32
	labels [maxLabels]uint32
	nTags  uint8
	nLabel uint8
	// under is what a label stack hides: the words from l3First to l3Last, as they are in
	// the packet below, and its EtherType.
	under     [l3Last - l3First + 1]uint64
	underND   uint32
	underType uint16
	// blind says that nobody has seen what is behind the link layer: it was below labels
	// that the packet came with.
	blind bool
}

// start makes s the state of a packet with key k.
func (s *packetState) start(k *flow.Key) {
	s.key = *k
	s.nTags, s.nLabel, s.blind = 0, 0, false
	w := k[flow.WordVLAN]
	if w&flow.TagPresent != 0 {
		if w&(flow.TagPresent>>32) != 0 {
			s.tags[0] = uint32(w)
			s.nTags = 1
		}
		s.tags[s.nTags] = uint32(w >> 32)
		s.nTags++
	}
	if !isMPLS(k.EthType()) {
		return
	}
	s.blind = true
	s.under = [len(s.under)]uint64{}
	s.underND, s.underType = 0, 0
	n := 1
	for n < keyLabels && k.MPLS(n-1)&bitsBottom == 0 && k.MPLS(n) != 0 {
		n++
	}
	for i := range n {
		s.labels[n-1-i] = k.MPLS(i)
	}
	s.nLabel = uint8(n)
}

func isMPLS(t uint16) bool { return t == hdr.TypeMPLS || t == hdr.TypeMPLSMC }

func isIP(t uint16) bool { return t == hdr.TypeIPv4 || t == hdr.TypeIPv6 }

// showTags brings the key's word up to date.
func (s *packetState) showTags() {
	var w uint64
	if n := s.nTags; n > 0 {
		w = uint64(s.tags[n-1]) << 32
		if n > 1 {
			w |= uint64(s.tags[n-2])
		}
	}
	s.key[flow.WordVLAN] = w
}

// showLabels brings the key's words up to date.
func (s *packetState) showLabels() {
	for i := range keyLabels {
		lse := uint32(0)
		if j := int(s.nLabel) - 1 - i; j >= 0 {
			lse = s.labels[j]
		}
		s.key.SetMPLS(i, lse)
	}
}

// pushTag and popTag change the tags. pushTag reports false if there are too many.
func (s *packetState) pushTag(tag uint32) bool {
	if s.nTags == maxTags {
		return false
	}
	s.tags[s.nTags] = tag
	s.nTags++
	s.showTags()
	return true
}

func (s *packetState) popTag() {
	if s.nTags > 0 {
		s.nTags--
		s.showTags()
	}
}

// tookTag takes over what was written to the key's VLAN word, in which there was old before.
func (s *packetState) tookTag() {
	w := s.key[flow.WordVLAN]
	switch n := s.nTags; {
	case n == 0:
		if w&flow.TagPresent != 0 {
			s.pushTag(uint32(w >> 32))
		}
	case n == 1 && w&flow.TagPresent == 0, n > 1 && uint32(w) == 0:
		s.popTag() // the field's Put moved the inner tag out
	default:
		s.tags[n-1] = uint32(w >> 32)
	}
}

// hide puts what is behind the EtherType below a label stack, clear takes it from sight.
func (s *packetState) hide() {
	copy(s.under[:], s.key[l3First:l3Last+1])
	s.underND = s.key.NDReserved()
	s.underType = s.key.EthType()
	s.clear()
}

func (s *packetState) clear() {
	for i := l3First; i <= l3Last; i++ {
		s.key[i] = 0
	}
	s.key[ndWord] &^= 0xffffffff
}

// show undoes hide.
func (s *packetState) show() {
	copy(s.key[l3First:l3Last+1], s.under[:])
	s.key[ndWord] = s.key[ndWord]&^0xffffffff | uint64(s.underND)
}

// l3 is word i of what is behind the link layer and the labels.
func (s *packetState) l3(i int) uint64 {
	switch {
	case i == ndWord && s.nLabel > 0:
		return uint64(s.underND)
	case i == ndWord:
		return s.key[ndWord] & 0xffffffff
	case s.nLabel > 0:
		return s.under[i-l3First]
	}
	return s.key[i]
}

// setL3 is the other direction.
func (s *packetState) setL3(i int, v uint64) {
	switch {
	case i == ndWord && s.nLabel > 0:
		s.underND = uint32(v)
	case i == ndWord:
		s.key[ndWord] = s.key[ndWord]&^0xffffffff | v&0xffffffff
	case s.nLabel > 0:
		s.under[i-l3First] = v
	default:
		s.key[i] = v
	}
}

// l3Type is the EtherType of what is behind the labels.
func (s *packetState) l3Type() uint16 {
	if s.nLabel > 0 {
		return s.underType
	}
	return s.key.EthType()
}
