package checksum

import (
	"encoding/binary"
	"math/bits"
)

// PseudoV4 is the sum of the IPv4 pseudo header of TCP (RFC 9293, section
// 3.1) and UDP (RFC 768). n is the length of L4 header and payload in bytes.
func PseudoV4(src, dst *[4]byte, proto uint8, n uint16) uint16 {
	s := uint64(binary.BigEndian.Uint32(src[:])) + uint64(binary.BigEndian.Uint32(dst[:]))
	return uint16(reduce(s + uint64(proto) + uint64(n)))
}

// PseudoV6 is the sum of the IPv6 pseudo header (RFC 8200, section 8.1). n is the
// length of L4 header and payload in bytes, proto the L4 protocol, not the
// next header of the fixed header when extension headers follow.
func PseudoV6(src, dst *[16]byte, proto uint8, n uint32) uint16 {
	s, c := bits.Add64(binary.BigEndian.Uint64(src[:8]), binary.BigEndian.Uint64(src[8:]), 0)
	s, c = bits.Add64(s, binary.BigEndian.Uint64(dst[:8]), c)
	s, c = bits.Add64(s, binary.BigEndian.Uint64(dst[8:]), c)
	s, c = bits.Add64(s, uint64(proto)+uint64(n), c)
	return uint16(reduce(s + c)) // s is small when c is 1: no second carry
}
