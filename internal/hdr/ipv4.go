package hdr

import "encoding/binary"

// Lengths of an IPv4 header, in bytes: without options and with all of them.
const (
	IPv4Len    = 20
	IPv4MaxLen = 60
)

// Bits of IPv4's flags and fragment offset word.
const (
	IPv4DF       = 0x4000
	IPv4MF       = 0x2000
	IPv4FragMask = 0x1fff // offset, in units of 8 bytes
)

// IPv4 is the fixed part of an IPv4 header (RFC 791, section 3.1).
//
//	0         1     2      4    6      8     9       10         12    16    20
//	| ver,ihl | tos | len  | id | frag | ttl | proto | checksum | src | dst |
type IPv4 [IPv4Len]byte

// IPv4At views b at off, nil if it is too short.
func IPv4At(b []byte, off int) *IPv4 {
	if uint(off) > uint(len(b)) || len(b)-off < IPv4Len {
		return nil
	}
	return (*IPv4)(b[off:])
}

// Version is 4 in a right header.
func (h *IPv4) Version() uint8 { return h[0] >> 4 }

// HeaderLen is the header's length with options in bytes, as it claims: 0 to 60.
func (h *IPv4) HeaderLen() int { return int(h[0]&15) * 4 }

// TOS is DSCP and ECN (RFC 2474, RFC 3168).
func (h *IPv4) TOS() uint8 { return h[1] }

// TotalLen is the length of header and payload in bytes, as it claims.
func (h *IPv4) TotalLen() int { return int(binary.BigEndian.Uint16(h[2:4])) }

// ID is the identification of a datagram's fragments.
func (h *IPv4) ID() uint16 { return binary.BigEndian.Uint16(h[4:6]) }

// Frag is flags and fragment offset.
func (h *IPv4) Frag() uint16 { return binary.BigEndian.Uint16(h[6:8]) }

// IsFragment tells whether the packet is a fragment, the first one included.
func (h *IPv4) IsFragment() bool { return h.Frag()&(IPv4MF|IPv4FragMask) != 0 }

// TTL is the time to live.
func (h *IPv4) TTL() uint8 { return h[8] }

// Proto is the protocol of the payload.
func (h *IPv4) Proto() uint8 { return h[9] }

// Checksum is the header checksum.
func (h *IPv4) Checksum() uint16 { return binary.BigEndian.Uint16(h[10:12]) }

// Src is the source address.
func (h *IPv4) Src() uint32 { return binary.BigEndian.Uint32(h[12:16]) }

// Dst is the destination address.
func (h *IPv4) Dst() uint32 { return binary.BigEndian.Uint32(h[16:20]) }

// SetVersionLen sets the version to 4 and the header length to n bytes.
func (h *IPv4) SetVersionLen(n int) { h[0] = 0x40 | byte(n/4) }

// SetTOS changes DSCP and ECN.
func (h *IPv4) SetTOS(v uint8) { h[1] = v }

// SetTotalLen changes the total length.
func (h *IPv4) SetTotalLen(n int) { binary.BigEndian.PutUint16(h[2:4], uint16(n)) }

// SetID changes the identification.
func (h *IPv4) SetID(v uint16) { binary.BigEndian.PutUint16(h[4:6], v) }

// SetFrag changes flags and fragment offset.
func (h *IPv4) SetFrag(v uint16) { binary.BigEndian.PutUint16(h[6:8], v) }

// SetTTL changes the time to live.
func (h *IPv4) SetTTL(v uint8) { h[8] = v }

// SetProto changes the protocol of the payload.
func (h *IPv4) SetProto(v uint8) { h[9] = v }

// SetChecksum changes the header checksum.
func (h *IPv4) SetChecksum(v uint16) { binary.BigEndian.PutUint16(h[10:12], v) }

// SetSrc changes the source address.
func (h *IPv4) SetSrc(v uint32) { binary.BigEndian.PutUint32(h[12:16], v) }

// SetDst changes the destination address.
func (h *IPv4) SetDst(v uint32) { binary.BigEndian.PutUint32(h[16:20], v) }

// Addresses are source and destination as bytes, for a pseudo header.
func (h *IPv4) Addresses() (src, dst *[4]byte) { return (*[4]byte)(h[12:16]), (*[4]byte)(h[16:20]) }
