package megaflow

import "math/bits"

// A bucket is a line with eight slots, in the signature cache and in subtables. A slot
// is a tag, 16 bits of the hash and never 0 in a used one, and a Ref.
//
//	 0  tags of slots 1, 3, 5, 7, the first in the low bits
//	 8  tags of slots 0, 2, 4, 6
//	16  Refs of slots 0..7
//	48  Ref of the bucket that this one overflows into, 0: none
//	52  not used
//
// All eight tags are compared at once.
const (
	bucketSlots = 8
	bucketRefs  = 16
	bucketNext  = 48

	lanes = 0x0001000100010001
	tops  = 0x8000800080008000
)

// tagOf is the tag of a hash, in all four lanes. Its low bits choose the bucket.
func tagOf(h uint64) uint64 { return (h>>48 | 1) * lanes }

// match has a bit for each slot of bucket b that may have the tag: one that has it is
// there, the lowest one has it, others may be wrong. Take the lowest by slotOf,
// go on with m & (m-1).
func match(b uintptr, tag uint64) uint64 {
	x := load64(b) ^ tag
	y := load64(b+8) ^ tag
	return (x-lanes)&^x&tops | (y-lanes)&^y&tops>>1
}

// refAt is the address of the Ref that the lowest bit of m is for.
func refAt(b uintptr, m uint64) uintptr {
	z := uintptr(bits.TrailingZeros64(m))
	return b + bucketRefs + z>>4<<3 + z&1<<2
}

// set fills the slot whose Ref is at ref.
func set(b, ref uintptr, tag uint64, r Ref) {
	slot := (ref - b - bucketRefs) / 4
	store16(b+(slot&1^1)*8+slot>>1*2, uint16(tag))
	store32(ref, uint32(r))
}

// empty makes b a bucket without anything.
func empty(b uintptr) {
	for i := uintptr(0); i < lineBytes; i += 8 {
		store64(b+i, 0)
	}
}
