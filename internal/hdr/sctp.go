package hdr

import "encoding/binary"

const (
	// SCTPLen is the length of an SCTP common header, in bytes.
	SCTPLen = 12
	// SCTPChecksum is the offset of the checksum, a CRC32c of 4 bytes.
	SCTPChecksum = 8
)

// SCTP is an SCTP common header (RFC 9260, section 3.1).
//
//	0       2       4     8        12
//	| sport | dport | tag | CRC32c |
type SCTP [SCTPLen]byte

// SCTPAt views b at off, nil if it is too short.
func SCTPAt(b []byte, off int) *SCTP {
	if uint(off) > uint(len(b)) || len(b)-off < SCTPLen {
		return nil
	}
	return (*SCTP)(b[off:])
}

// SrcPort is the source port.
func (h *SCTP) SrcPort() uint16 { return binary.BigEndian.Uint16(h[0:2]) }

// DstPort is the destination port.
func (h *SCTP) DstPort() uint16 { return binary.BigEndian.Uint16(h[2:4]) }

// Tag is the verification tag.
func (h *SCTP) Tag() uint32 { return binary.BigEndian.Uint32(h[4:8]) }

// Checksum is the CRC32c, least significant byte first on the wire (RFC 9260,
// appendix A).
func (h *SCTP) Checksum() uint32 { return binary.LittleEndian.Uint32(h[8:12]) }

// SetSrcPort changes the source port.
func (h *SCTP) SetSrcPort(v uint16) { binary.BigEndian.PutUint16(h[0:2], v) }

// SetDstPort changes the destination port.
func (h *SCTP) SetDstPort(v uint16) { binary.BigEndian.PutUint16(h[2:4], v) }

// SetChecksum changes the CRC32c.
func (h *SCTP) SetChecksum(v uint32) { binary.LittleEndian.PutUint32(h[8:12], v) }
