package lacp

import "encoding/binary"

// Subtypes of slow protocols, the first byte behind the EtherType (IEEE 802.3 annex 57A).
const subtypeMarker = 2

// Takes tells whether a frame of slow protocols, of which an Ethernet header and a byte must be there, is
// one of link aggregation: an LACPDU or a marker.
func Takes(f []byte) bool { return f[14] == Subtype || f[14] == subtypeMarker }

// AnswerMarker is the response to a frame with a marker (IEEE 802.1AX-2020 6.5.4.2), from src: the frame itself, but
// for its addresses and what it says it is. It is nil if the frame is none.
func AnswerMarker(f []byte, src [6]byte) []byte {
	const kind, length = 16, 17 // of the TLV
	if len(f) < FrameLen || binary.BigEndian.Uint16(f[12:]) != EtherType || f[14] != subtypeMarker || f[kind] != 1 || f[length] != 16 {
		return nil
	}
	a := append([]byte(nil), f[:FrameLen]...)
	copy(a, Address[:])
	copy(a[6:], src[:])
	a[kind] = 2
	return a
}
