package hdr

import "encoding/binary"

// Lengths of a TCP header, in bytes: without options and with all of them.
const (
	TCPLen    = 20
	TCPMaxLen = 60
	// TCPChecksum is the offset of the checksum.
	TCPChecksum = 16
)

// TCP flags (RFC 9293, section 3.1; NS of RFC 3540 is now AE).
const (
	TCPFin = 1 << iota
	TCPSyn
	TCPRst
	TCPPsh
	TCPAck
	TCPUrg
	TCPEce
	TCPCwr
	TCPNs
)

// TCP is the fixed part of a TCP header (RFC 9293, section 3.1).
//
//	0      2      4     8     12           14    16         18       20
//	| sport| dport| seq | ack | off, flags | win | checksum | urgent |
type TCP [TCPLen]byte

// TCPAt views b at off, nil if it is too short.
func TCPAt(b []byte, off int) *TCP {
	if uint(off) > uint(len(b)) || len(b)-off < TCPLen {
		return nil
	}
	return (*TCP)(b[off:])
}

// SrcPort is the source port.
func (h *TCP) SrcPort() uint16 { return binary.BigEndian.Uint16(h[0:2]) }

// DstPort is the destination port.
func (h *TCP) DstPort() uint16 { return binary.BigEndian.Uint16(h[2:4]) }

// Seq is the sequence number.
func (h *TCP) Seq() uint32 { return binary.BigEndian.Uint32(h[4:8]) }

// Ack is the acknowledgment number.
func (h *TCP) Ack() uint32 { return binary.BigEndian.Uint32(h[8:12]) }

// HeaderLen is the header's length with options in bytes, as it claims: 0 to 60.
func (h *TCP) HeaderLen() int { return int(h[12]>>4) * 4 }

// Flags are the flags and the reserved bits above them, 12 bits.
func (h *TCP) Flags() uint16 { return binary.BigEndian.Uint16(h[12:14]) & 0xfff }

// Window is the window, not scaled.
func (h *TCP) Window() uint16 { return binary.BigEndian.Uint16(h[14:16]) }

// Checksum is the checksum.
func (h *TCP) Checksum() uint16 { return binary.BigEndian.Uint16(h[16:18]) }

// SetSrcPort changes the source port.
func (h *TCP) SetSrcPort(v uint16) { binary.BigEndian.PutUint16(h[0:2], v) }

// SetDstPort changes the destination port.
func (h *TCP) SetDstPort(v uint16) { binary.BigEndian.PutUint16(h[2:4], v) }

// SetSeq changes the sequence number.
func (h *TCP) SetSeq(v uint32) { binary.BigEndian.PutUint32(h[4:8], v) }

// SetLenFlags changes header length, in bytes, and flags.
func (h *TCP) SetLenFlags(n int, flags uint16) {
	binary.BigEndian.PutUint16(h[12:14], uint16(n/4)<<12|flags&0xfff)
}

// ClearFlags turns off the flags given, of the low eight.
func (h *TCP) ClearFlags(flags uint8) { h[13] &^= flags }

// SetChecksum changes the checksum.
func (h *TCP) SetChecksum(v uint16) { binary.BigEndian.PutUint16(h[16:18], v) }
