package megaflow

import (
	"math/bits"

	"github.com/gvswitch/gvswitch/flow"
)

// The hash of a megaflow in its subtable is over its masked words, in pairs. There are
// two forms, for up to four words and for more, which treat words that there are not as
// zeros, so that they need no loop; and a tail for more than seven.

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// hashFew is the hash of up to four words.
func hashFew(c *[8]uint64, a, b, d, e uint64) uint64 {
	return fold(a^c[0], b^c[1]) ^ fold(d^c[2], e^c[3])
}

// hashKey is the hash of a key in subtable s.
func (t *Table) hashKey(s *subtable, k *flow.Key) uint64 {
	var w [flow.PacketWords]uint64
	for i, j := range s.words[:s.n] {
		w[i] = k[j] & s.mask[j]
	}
	return t.hashWords(s.n, &w)
}

// hashEntry is the hash of the megaflow at e in subtable s.
func (t *Table) hashEntry(s *subtable, e uintptr) uint64 {
	var w [flow.PacketWords]uint64
	for i := range s.n {
		w[i] = load64(e + 8 + uintptr(i)*8)
	}
	return t.hashWords(s.n, &w)
}

// hashWords is the reference of the forms that lookups use.
func (t *Table) hashWords(n int, w *[flow.PacketWords]uint64) uint64 {
	c := &t.mix
	h := hashFew(c, w[0], w[1], w[2], w[3])
	if n <= 4 {
		return h
	}
	h ^= fold(w[4]^c[4], w[5]^c[5]) ^ fold(w[6]^c[6], c[7])
	for _, x := range w[inLine:max(n, inLine)] {
		h = fold(h^x, c[7])
	}
	return h
}

// hashFull is the hash of a whole key for the signature cache.
func (t *Table) hashFull(k *flow.Key) uint64 {
	h := k.HashBase(t.seed)
	var or uint64
	for _, w := range k[flow.BaseWords:flow.PacketWords] {
		or |= w
	}
	if or == 0 {
		return h
	}
	for _, w := range k[flow.BaseWords:flow.PacketWords] {
		h = fold(h^w, t.mix[0])
	}
	return h
}
