package hdr

import "encoding/binary"

// IPv6Len is the length of the fixed IPv6 header, in bytes.
const IPv6Len = 40

// IPv6 is the fixed IPv6 header (RFC 8200, section 3).
//
//	0                4             6      7       8     24    40
//	| ver, tc, label | payload len | next | limit | src | dst |
type IPv6 [IPv6Len]byte

// IPv6At views b at off, nil if it is too short.
func IPv6At(b []byte, off int) *IPv6 {
	if uint(off) > uint(len(b)) || len(b)-off < IPv6Len {
		return nil
	}
	return (*IPv6)(b[off:])
}

// Version is 6 in a right header.
func (h *IPv6) Version() uint8 { return h[0] >> 4 }

// TOS is the traffic class: DSCP and ECN.
func (h *IPv6) TOS() uint8 { return h[0]<<4 | h[1]>>4 }

// Label is the flow label.
func (h *IPv6) Label() uint32 { return binary.BigEndian.Uint32(h[0:4]) & 0xfffff }

// PayloadLen is the length of what follows the fixed header, as it claims.
func (h *IPv6) PayloadLen() int { return int(binary.BigEndian.Uint16(h[4:6])) }

// Next is the protocol of what follows.
func (h *IPv6) Next() uint8 { return h[6] }

// HopLimit is the hop limit.
func (h *IPv6) HopLimit() uint8 { return h[7] }

// Src is the source address in two halves.
func (h *IPv6) Src() (hi, lo uint64) {
	return binary.BigEndian.Uint64(h[8:16]), binary.BigEndian.Uint64(h[16:24])
}

// Dst is the destination address in two halves.
func (h *IPv6) Dst() (hi, lo uint64) {
	return binary.BigEndian.Uint64(h[24:32]), binary.BigEndian.Uint64(h[32:40])
}

// SetFlow sets the version to 6, and traffic class and flow label.
func (h *IPv6) SetFlow(tos uint8, label uint32) {
	binary.BigEndian.PutUint32(h[0:4], 6<<28|uint32(tos)<<20|label&0xfffff)
}

// SetPayloadLen changes the payload length.
func (h *IPv6) SetPayloadLen(n int) { binary.BigEndian.PutUint16(h[4:6], uint16(n)) }

// SetNext changes the protocol of what follows.
func (h *IPv6) SetNext(v uint8) { h[6] = v }

// SetHopLimit changes the hop limit.
func (h *IPv6) SetHopLimit(v uint8) { h[7] = v }

// SetSrc changes the source address.
func (h *IPv6) SetSrc(hi, lo uint64) {
	binary.BigEndian.PutUint64(h[8:16], hi)
	binary.BigEndian.PutUint64(h[16:24], lo)
}

// SetDst changes the destination address.
func (h *IPv6) SetDst(hi, lo uint64) {
	binary.BigEndian.PutUint64(h[24:32], hi)
	binary.BigEndian.PutUint64(h[32:40], lo)
}

// Addresses are source and destination as bytes, for a pseudo header.
func (h *IPv6) Addresses() (src, dst *[16]byte) { return (*[16]byte)(h[8:24]), (*[16]byte)(h[24:40]) }
