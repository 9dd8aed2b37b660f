package checksum

import (
	"encoding/binary"
	"math/bits"
)

// sumGeneric is the kernel's contract and reference: acc plus the 16-bit words
// of b, read as little-endian numbers, in ones' complement arithmetic of 64
// bits. Since 2^16 = 1 (mod 2^16-1), words may be added four at a time and the
// result folded down at the end. Adding the last carry cannot carry again: a
// sum of two words that carries is at most 2^64-2.
func sumGeneric(b []byte, acc uint64) uint64 {
	for len(b) >= 64 {
		var c uint64
		acc, c = bits.Add64(acc, binary.LittleEndian.Uint64(b[0:8]), 0)
		acc, c = bits.Add64(acc, binary.LittleEndian.Uint64(b[8:16]), c)
		acc, c = bits.Add64(acc, binary.LittleEndian.Uint64(b[16:24]), c)
		acc, c = bits.Add64(acc, binary.LittleEndian.Uint64(b[24:32]), c)
		acc, c = bits.Add64(acc, binary.LittleEndian.Uint64(b[32:40]), c)
		acc, c = bits.Add64(acc, binary.LittleEndian.Uint64(b[40:48]), c)
		acc, c = bits.Add64(acc, binary.LittleEndian.Uint64(b[48:56]), c)
		acc, c = bits.Add64(acc, binary.LittleEndian.Uint64(b[56:64]), c)
		acc += c
		b = b[64:]
	}
	for len(b) >= 8 {
		acc = addCarry(acc, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	if len(b) >= 4 {
		acc = addCarry(acc, uint64(binary.LittleEndian.Uint32(b)))
		b = b[4:]
	}
	if len(b) >= 2 {
		acc = addCarry(acc, uint64(binary.LittleEndian.Uint16(b)))
		b = b[2:]
	}
	if len(b) != 0 {
		acc = addCarry(acc, uint64(b[0]))
	}
	return acc
}

// addCarry adds two 64-bit ones' complement numbers.
func addCarry(a, b uint64) uint64 {
	s, c := bits.Add64(a, b, 0)
	return s + c
}
