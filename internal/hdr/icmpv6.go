package hdr

import "encoding/binary"

const (
	// ICMPv6Len is the length of an ICMPv6 header without its body, in bytes.
	ICMPv6Len = 4
	// NDLen is the length of a neighbour solicitation or advertisement without
	// options, in bytes.
	NDLen = 24
	// NDOptLen is the unit of neighbour discovery options, in bytes.
	NDOptLen = 8
)

// ICMPv6 types (RFC 4443, RFC 4861).
const (
	ICMPv6Echo      = 128
	ICMPv6EchoReply = 129
	ICMPv6NS        = 135
	ICMPv6NA        = 136
)

// Neighbour discovery options (RFC 4861, section 4.6).
const (
	NDOptSource = 1 // source link-layer address
	NDOptTarget = 2 // target link-layer address
)

// ICMPv6 is an ICMPv6 header (RFC 4443, section 2.1).
//
//	0      1      2          4
//	| type | code | checksum |
type ICMPv6 [ICMPv6Len]byte

// ICMPv6At views b at off, nil if it is too short.
func ICMPv6At(b []byte, off int) *ICMPv6 {
	if uint(off) > uint(len(b)) || len(b)-off < ICMPv6Len {
		return nil
	}
	return (*ICMPv6)(b[off:])
}

// Type is the message type.
func (h *ICMPv6) Type() uint8 { return h[0] }

// Code is the message code.
func (h *ICMPv6) Code() uint8 { return h[1] }

// Checksum is the checksum.
func (h *ICMPv6) Checksum() uint16 { return binary.BigEndian.Uint16(h[2:4]) }

// SetTypeCode changes type and code.
func (h *ICMPv6) SetTypeCode(t, c uint8) { h[0], h[1] = t, c }

// SetChecksum changes the checksum.
func (h *ICMPv6) SetChecksum(v uint16) { binary.BigEndian.PutUint16(h[2:4], v) }

// ND is a neighbour solicitation or advertisement (RFC 4861, sections 4.3 and
// 4.4) without its options.
//
//	0        4                  8        24
//	| ICMPv6 | flags, reserved  | target |
type ND [NDLen]byte

// NDAt views b at off, nil if it is too short.
func NDAt(b []byte, off int) *ND {
	if uint(off) > uint(len(b)) || len(b)-off < NDLen {
		return nil
	}
	return (*ND)(b[off:])
}

// Reserved is the word of flags and reserved bits.
func (h *ND) Reserved() uint32 { return binary.BigEndian.Uint32(h[4:8]) }

// Target is the target address in two halves.
func (h *ND) Target() (hi, lo uint64) {
	return binary.BigEndian.Uint64(h[8:16]), binary.BigEndian.Uint64(h[16:24])
}

// SetTarget changes the target address.
func (h *ND) SetTarget(hi, lo uint64) {
	binary.BigEndian.PutUint64(h[8:16], hi)
	binary.BigEndian.PutUint64(h[16:24], lo)
}

// NDOpt is the first unit of a neighbour discovery option; a link-layer address
// option for Ethernet is just this long.
type NDOpt [NDOptLen]byte

// NDOptAt views b at off, nil if it is too short.
func NDOptAt(b []byte, off int) *NDOpt {
	if uint(off) > uint(len(b)) || len(b)-off < NDOptLen {
		return nil
	}
	return (*NDOpt)(b[off:])
}

// Type is the option's type.
func (h *NDOpt) Type() uint8 { return h[0] }

// Len is the option's length in bytes, as it claims; 0 is invalid.
func (h *NDOpt) Len() int { return int(h[1]) * NDOptLen }

// LinkAddr is the address in a link-layer address option.
func (h *NDOpt) LinkAddr() MAC { return MAC(binary.BigEndian.Uint64(h[0:8]) & (1<<48 - 1)) }
