package hdr

import "encoding/binary"

const (
	// UDPLen is the length of a UDP header, in bytes.
	UDPLen = 8
	// UDPChecksum is the offset of the checksum.
	UDPChecksum = 6
)

// UDP is a UDP header (RFC 768).
//
//	0       2       4     6          8
//	| sport | dport | len | checksum |
type UDP [UDPLen]byte

// UDPAt views b at off, nil if it is too short.
func UDPAt(b []byte, off int) *UDP {
	if uint(off) > uint(len(b)) || len(b)-off < UDPLen {
		return nil
	}
	return (*UDP)(b[off:])
}

// SrcPort is the source port.
func (h *UDP) SrcPort() uint16 { return binary.BigEndian.Uint16(h[0:2]) }

// DstPort is the destination port.
func (h *UDP) DstPort() uint16 { return binary.BigEndian.Uint16(h[2:4]) }

// Len is the length of header and payload, as it claims.
func (h *UDP) Len() int { return int(binary.BigEndian.Uint16(h[4:6])) }

// Checksum is the checksum; 0 means none.
func (h *UDP) Checksum() uint16 { return binary.BigEndian.Uint16(h[6:8]) }

// SetSrcPort changes the source port.
func (h *UDP) SetSrcPort(v uint16) { binary.BigEndian.PutUint16(h[0:2], v) }

// SetDstPort changes the destination port.
func (h *UDP) SetDstPort(v uint16) { binary.BigEndian.PutUint16(h[2:4], v) }

// SetLen changes the length.
func (h *UDP) SetLen(n int) { binary.BigEndian.PutUint16(h[4:6], uint16(n)) }

// SetChecksum changes the checksum.
func (h *UDP) SetChecksum(v uint16) { binary.BigEndian.PutUint16(h[6:8], v) }
