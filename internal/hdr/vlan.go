package hdr

import "encoding/binary"

// VLANLen is the length of a VLAN tag, in bytes.
const VLANLen = 4

// Parts of a tag control information (IEEE 802.1Q, section 9.6).
const (
	VIDMask  = 0x0fff
	DEI      = 0x1000
	PCPMask  = 0xe000
	PCPShift = 13
)

// VLAN is a tag as it follows the two addresses: the TPID, then the TCI. What is
// tagged begins with the EtherType behind it.
type VLAN [VLANLen]byte

// VLANAt views b at off, nil if it is too short. The first tag of a frame is at
// offset 12.
func VLANAt(b []byte, off int) *VLAN {
	if uint(off) > uint(len(b)) || len(b)-off < VLANLen {
		return nil
	}
	return (*VLAN)(b[off:])
}

// TPID says which kind of tag it is.
func (h *VLAN) TPID() uint16 { return binary.BigEndian.Uint16(h[0:2]) }

// TCI is priority, DEI and VLAN id.
func (h *VLAN) TCI() uint16 { return binary.BigEndian.Uint16(h[2:4]) }

// VID is the VLAN id.
func (h *VLAN) VID() uint16 { return h.TCI() & VIDMask }

// PCP is the priority code point, 0 to 7.
func (h *VLAN) PCP() uint8 { return h[2] >> 5 }
