package flow

import "math/bits"

// The digits of pi, so that nobody wonders: what they need to be is different
// from each other.
const (
	mix0 = 0x243f6a8885a308d3
	mix1 = 0x13198a2e03707344
	mix2 = 0xa4093822299f31d0
	mix3 = 0x082efa98ec4e6c89
	mix4 = 0x452821e638d01377
	mix5 = 0xbe5466cf34e90c6c
	mix6 = 0xc0ac29b7c97c50dd
	mix7 = 0x3f84d5b5b5470917
)

// fold is the product of a and b, its halves joined.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// HashBase hashes the base of k: enough for packets that no tunnel and no
// connection tracking has touched. Give a random seed, one per process, so
// that nobody outside can choose frames that collide. The products
// do not wait for each other.
func (k *Key) HashBase(seed uint64) uint64 {
	h := fold(k[0]^mix0, k[1]^mix1^seed)
	h ^= fold(k[2]^mix1, k[3]^mix2^seed)
	h ^= fold(k[4]^mix2, k[5]^mix3^seed)
	h ^= fold(k[6]^mix3, k[7]^mix4^seed)
	h ^= fold(k[8]^mix4, k[9]^mix5^seed)
	h ^= fold(k[10]^mix5, k[11]^mix6^seed)
	h ^= fold(k[12]^mix6, k[13]^mix7^seed)
	h ^= fold(k[14]^mix7, k[15]^mix0^seed)
	return fold(h^mix3, seed^mix7)
}

// Hash hashes all of k.
func (k *Key) Hash(seed uint64) uint64 {
	h := k.HashBase(seed)
	if k.BaseOnly() {
		return h
	}
	for i := BaseWords; i+1 < Words; i += 2 {
		h = fold(h^k[i]^mix0, k[i+1]^mix1^seed)
	}
	return h
}

// BaseOnly tells whether all words behind the base are zero.
func (k *Key) BaseOnly() bool {
	var or uint64
	for _, w := range k[BaseWords:] {
		or |= w
	}
	return or == 0
}
