package rules

import (
	"math/bits"
	"math/rand/v2"

	"github.com/gvswitch/gvswitch/flow"
)

// stages is how many stages a lookup has at most: metadata and registers, L2, L3, L4. A packet
// that fails in one is not looked at by the later ones.
const stages = 4

// stageOf gives each word of a key its stage. The EtherType is in the second, so that it has been
// looked at when the third asks for prefixes of its kind of address.
var stageOf = func() (s [flow.Words]uint8) {
	for _, w := range []int{flow.WordDst, flow.WordSrc, flow.WordVLAN, flow.WordMPLS} {
		s[w] = 1
	}
	for _, w := range []int{
		flow.WordIP, flow.WordIPSrc, flow.WordIPSrcLo, flow.WordIPDst, flow.WordIPDstLo,
		flow.WordSHA, flow.WordTHA, flow.WordTarget, flow.WordTargetLo, flow.WordMPLS2,
	} {
		s[w] = 2
	}
	s[flow.WordTP] = 3
	return s
}()

// word is a word of a mask that is not zero.
type word struct {
	bits uint64
	i    uint8
}

// mask is a mask as the lookup wants it: the words that are not zero, by stage. It never changes.
type mask struct {
	words []word
	stage []stage // those that have words; the last one's index is the rules themselves
	plen  [numTries]uint8
}

// stage is a part of a mask.
type stage struct {
	end   uint8 // the words before this belong to it or to stages before
	tries uint8 // bit n: ask trie n before
}

// newMask makes a mask of the bits of m.
func newMask(m *flow.Key) *mask {
	k := &mask{}
	n := 0
	for _, w := range m {
		if w != 0 {
			n++
		}
	}
	k.words = make([]word, 0, n)
	typed := uint16(m[flow.WordSrc]) == 0xffff
	for i := range k.plen {
		if f := &tries[i]; f.etherType == 0 || typed {
			k.plen[i] = f.prefix(m)
		}
	}
	for s := range uint8(stages) {
		before := len(k.words)
		for i, w := range m {
			if w != 0 && stageOf[i] == s {
				k.words = append(k.words, word{w, uint8(i)})
			}
		}
		if len(k.words) == before {
			continue
		}
		st := stage{end: uint8(len(k.words))}
		for i := range k.plen {
			if k.plen[i] != 0 && tries[i].stage == s {
				st.tries |= 1 << i
			}
		}
		k.stage = append(k.stage, st)
	}
	return k
}

// key is the mask as a key.
func (m *mask) key() (k flow.Key) {
	for _, w := range m.words {
		k[w.i] = w.bits
	}
	return k
}

// addTo sets the bits of the first n words in wc.
func (m *mask) addTo(wc *flow.Key, n uint8) {
	for i := range m.words[:n] {
		w := &m.words[i]
		wc[w.i] |= w.bits
	}
}

// within tells whether o has all bits of m.
func (m *mask) within(o *mask) bool {
	for _, w := range m.words {
		if w.bits&^o.bits(w.i) != 0 {
			return false
		}
	}
	return true
}

// bits are those of word i.
func (m *mask) bits(i uint8) uint64 {
	for _, w := range m.words {
		if w.i == i {
			return w.bits
		}
	}
	return 0
}

// seed makes hashes differ from process to process, so that nobody can choose rules
// or packets that collide.
var seed = rand.Uint64()

// mixed takes a word into a hash.
func mixed(h, w uint64, i uint8) uint64 {
	hi, lo := bits.Mul64(h^w, 0x9e3779b97f4a7c15+uint64(i)<<1)
	return hi ^ lo
}

// tag is what a dict knows of a hash.
func tag(h uint64) uint32 {
	t := uint32(h>>32) ^ uint32(h)
	if t <= tombstone {
		t += 2
	}
	return t
}
