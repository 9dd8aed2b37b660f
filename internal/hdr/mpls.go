package hdr

import "encoding/binary"

// MPLSLen is the length of an MPLS label stack entry, in bytes.
const MPLSLen = 4

// MPLS is a label stack entry (RFC 3032, section 2.1): label 20, traffic
// class 3, bottom of stack 1, TTL 8 bits.
type MPLS [MPLSLen]byte

// MPLSAt views b at off, nil if it is too short.
func MPLSAt(b []byte, off int) *MPLS {
	if uint(off) > uint(len(b)) || len(b)-off < MPLSLen {
		return nil
	}
	return (*MPLS)(b[off:])
}

// Entry is the whole entry.
func (h *MPLS) Entry() uint32 { return binary.BigEndian.Uint32(h[0:4]) }

// Label is the label.
func (h *MPLS) Label() uint32 { return h.Entry() >> 12 }

// Bottom tells whether this is the last entry of the stack.
func (h *MPLS) Bottom() bool { return h[2]&1 != 0 }

// TTL is the time to live.
func (h *MPLS) TTL() uint8 { return h[3] }
