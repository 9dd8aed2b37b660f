package hdr

import "encoding/binary"

// IPv6ExtLen is how much of an extension header must be there to read it: all
// are at least this long, in bytes.
const IPv6ExtLen = 8

// Bits of a fragment header's offset word.
const (
	IPv6MF       = 0x0001
	IPv6FragMask = 0xfff8 // offset, in bytes
)

// IPv6Ext is the beginning of an IPv6 extension header (RFC 8200, section 4).
type IPv6Ext [IPv6ExtLen]byte

// IPv6ExtAt views b at off, nil if it is too short.
func IPv6ExtAt(b []byte, off int) *IPv6Ext {
	if uint(off) > uint(len(b)) || len(b)-off < IPv6ExtLen {
		return nil
	}
	return (*IPv6Ext)(b[off:])
}

// IsIPv6Ext tells whether proto is an extension header that can be walked over.
func IsIPv6Ext(proto uint8) bool {
	switch proto {
	case ProtoHopByHop, ProtoRouting, ProtoFragment, ProtoAH, ProtoDestOpts:
		return true
	}
	return false
}

// Next is the protocol of what follows.
func (h *IPv6Ext) Next() uint8 { return h[0] }

// Len is the header's length in bytes, as it claims, when its own protocol
// number is proto.
func (h *IPv6Ext) Len(proto uint8) int {
	switch proto {
	case ProtoFragment:
		return IPv6ExtLen
	case ProtoAH: // RFC 4302, section 2.2: counts words of 4, less 2
		return (int(h[1]) + 2) * 4
	}
	return (int(h[1]) + 1) * 8
}

// SegmentsLeft is how many nodes a routing header still names.
func (h *IPv6Ext) SegmentsLeft() uint8 { return h[3] }

// Frag is a fragment header's offset and more-fragments bit.
func (h *IPv6Ext) Frag() uint16 { return binary.BigEndian.Uint16(h[2:4]) }

// FragID is a fragment header's identification.
func (h *IPv6Ext) FragID() uint32 { return binary.BigEndian.Uint32(h[4:8]) }
