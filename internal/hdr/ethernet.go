package hdr

import "encoding/binary"

// EthernetLen is the length of an Ethernet header without tags, in bytes.
const EthernetLen = 14

// EtherTypes (IEEE 802 numbers, IANA).
const (
	TypeIPv4   = 0x0800
	TypeARP    = 0x0806
	TypeVLAN   = 0x8100 // IEEE 802.1Q customer tag
	TypeRARP   = 0x8035
	TypeIPv6   = 0x86dd
	TypeMPLS   = 0x8847
	TypeMPLSMC = 0x8848
	TypeLLDP   = 0x88cc
	TypeQinQ   = 0x88a8 // IEEE 802.1ad service tag

	// TypeMin is the least number that is an EtherType; below it is the length of an
	// IEEE 802.3 frame.
	TypeMin = 0x0600
)

// Ethernet is an Ethernet header (IEEE 802.3, section 3.1.1).
//
//	0      6      12     14
//	| dst  | src  | type |
type Ethernet [EthernetLen]byte

// EthernetAt views b at off, nil if it is too short.
func EthernetAt(b []byte, off int) *Ethernet {
	if uint(off) > uint(len(b)) || len(b)-off < EthernetLen {
		return nil
	}
	return (*Ethernet)(b[off:])
}

// Dst is the destination address.
func (h *Ethernet) Dst() MAC { return MAC(binary.BigEndian.Uint64(h[0:8]) >> 16) }

// Src is the source address.
func (h *Ethernet) Src() MAC { return MAC(binary.BigEndian.Uint64(h[6:14]) >> 16) }

// Type is the EtherType, or the length of an IEEE 802.3 frame, or a tag's TPID.
func (h *Ethernet) Type() uint16 { return binary.BigEndian.Uint16(h[12:14]) }

// SetDst changes the destination address.
func (h *Ethernet) SetDst(m MAC) {
	binary.BigEndian.PutUint32(h[0:4], uint32(m>>16))
	binary.BigEndian.PutUint16(h[4:6], uint16(m))
}

// SetSrc changes the source address.
func (h *Ethernet) SetSrc(m MAC) {
	binary.BigEndian.PutUint32(h[6:10], uint32(m>>16))
	binary.BigEndian.PutUint16(h[10:12], uint16(m))
}

// IsVLAN tells whether t is the TPID of a VLAN tag.
func IsVLAN(t uint16) bool { return t == TypeVLAN || t == TypeQinQ }

// TypeAt is the EtherType in b at off, 0 if b is too short. That of an untagged
// frame is at offset 12.
func TypeAt(b []byte, off int) uint16 {
	if uint(off) > uint(len(b)) || len(b)-off < 2 {
		return 0
	}
	h := (*[2]byte)(b[off:])
	return uint16(h[0])<<8 | uint16(h[1])
}
