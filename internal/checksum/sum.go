package checksum

import "math/bits"

// Sum is initial plus the sum of b. An odd last byte counts as the high half of
// a word, as if a zero byte followed.
func Sum(b []byte, initial uint16) uint16 {
	return fold(kernel(b, uint64(bits.ReverseBytes16(initial))))
}

// Acc sums a packet that lies in several pieces of any length, odd ones too.
// The zero value is an empty sum.
type Acc struct {
	sum uint64 // of what came so far, little-endian words, see kernel
	odd bool   // an odd number of bytes came so far
}

// Start empties a and begins with the sum initial, say of a pseudo header.
func (a *Acc) Start(initial uint16) {
	a.sum, a.odd = uint64(bits.ReverseBytes16(initial)), false
}

// Add appends the bytes of b.
func (a *Acc) Add(b []byte) {
	if !a.odd {
		a.sum = kernel(b, a.sum)
	} else {
		a.addShifted(b)
	}
	a.odd = a.odd != (len(b)&1 != 0)
}

// addShifted adds a piece whose first byte is the second half of a word: its sum
// with the bytes of each word exchanged (RFC 1071, section 2 (B)).
func (a *Acc) addShifted(b []byte) {
	s := bits.ReverseBytes16(uint16(reduce(kernel(b, 0))))
	a.sum = addCarry(a.sum, uint64(s))
}

// Sum is the sum of all that came so far.
func (a *Acc) Sum() uint16 { return fold(a.sum) }

// reduce brings a 64-bit ones' complement sum down to 16 bits.
func reduce(s uint64) uint64 {
	s = s>>32 + s&0xffffffff
	s = s>>32 + s&0xffffffff
	s = s>>16 + s&0xffff
	return s>>16 + s&0xffff
}

// fold turns the kernel's little-endian sum into a sum in network order.
func fold(s uint64) uint16 { return bits.ReverseBytes16(uint16(reduce(s))) }

// add16 adds two 16-bit ones' complement numbers.
func add16(a, b uint16) uint16 {
	s := uint32(a) + uint32(b)
	return uint16(s>>16 + s)
}
