package hdr

import "encoding/binary"

const (
	// ICMPLen is the length of an ICMP header with its rest-of-header word, and of an
	// IGMP header, in bytes.
	ICMPLen = 8
	// ICMPChecksum is the offset of the checksum, in ICMPv6 and IGMP too.
	ICMPChecksum = 2
)

// ICMP types (RFC 792).
const (
	ICMPEchoReply   = 0
	ICMPUnreachable = 3
	ICMPEcho        = 8
)

// ICMP is an ICMP header (RFC 792), or an IGMP one (RFC 2236), whose rest is the
// group address.
//
//	0      1      2          4      8
//	| type | code | checksum | rest |
type ICMP [ICMPLen]byte

// ICMPAt views b at off, nil if it is too short.
func ICMPAt(b []byte, off int) *ICMP {
	if uint(off) > uint(len(b)) || len(b)-off < ICMPLen {
		return nil
	}
	return (*ICMP)(b[off:])
}

// Type is the message type.
func (h *ICMP) Type() uint8 { return h[0] }

// Code is the message code.
func (h *ICMP) Code() uint8 { return h[1] }

// Checksum is the checksum.
func (h *ICMP) Checksum() uint16 { return binary.BigEndian.Uint16(h[2:4]) }

// Rest is the second word.
func (h *ICMP) Rest() uint32 { return binary.BigEndian.Uint32(h[4:8]) }

// SetTypeCode changes type and code.
func (h *ICMP) SetTypeCode(t, c uint8) { h[0], h[1] = t, c }

// SetChecksum changes the checksum.
func (h *ICMP) SetChecksum(v uint16) { binary.BigEndian.PutUint16(h[2:4], v) }

// SetRest changes the second word.
func (h *ICMP) SetRest(v uint32) { binary.BigEndian.PutUint32(h[4:8], v) }
