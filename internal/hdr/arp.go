package hdr

import "encoding/binary"

// ARPLen is the length of an ARP packet for IPv4 on Ethernet, in bytes.
const ARPLen = 28

// ARP operations (RFC 826, RFC 903).
const (
	ARPRequest  = 1
	ARPReply    = 2
	RARPRequest = 3
	RARPReply   = 4
)

// ARP is an ARP or RARP packet (RFC 826).
//
//	0     2     4    5    6    8     14    18    24    28
//	| hrd | pro | hln pln | op | sha | spa | tha | tpa |
type ARP [ARPLen]byte

// ARPAt views b at off, nil if it is too short.
func ARPAt(b []byte, off int) *ARP {
	if uint(off) > uint(len(b)) || len(b)-off < ARPLen {
		return nil
	}
	return (*ARP)(b[off:])
}

// IsEthernetIPv4 tells whether the packet maps IPv4 to Ethernet addresses: the
// only kind whose addresses stand where the other accessors look.
func (h *ARP) IsEthernetIPv4() bool {
	return binary.BigEndian.Uint32(h[0:4]) == 1<<16|TypeIPv4 && binary.BigEndian.Uint16(h[4:6]) == 6<<8|4
}

// SetEthernetIPv4 fills the constant fields.
func (h *ARP) SetEthernetIPv4() {
	binary.BigEndian.PutUint32(h[0:4], 1<<16|TypeIPv4)
	binary.BigEndian.PutUint16(h[4:6], 6<<8|4)
}

// Op is the operation.
func (h *ARP) Op() uint16 { return binary.BigEndian.Uint16(h[6:8]) }

// SenderMAC is the sender's hardware address.
func (h *ARP) SenderMAC() MAC { return MAC(binary.BigEndian.Uint64(h[8:16]) >> 16) }

// SenderIP is the sender's protocol address.
func (h *ARP) SenderIP() uint32 { return binary.BigEndian.Uint32(h[14:18]) }

// TargetMAC is the target's hardware address.
func (h *ARP) TargetMAC() MAC { return MAC(binary.BigEndian.Uint64(h[18:26]) >> 16) }

// TargetIP is the target's protocol address.
func (h *ARP) TargetIP() uint32 { return binary.BigEndian.Uint32(h[24:28]) }

// SetOp changes the operation.
func (h *ARP) SetOp(op uint16) { binary.BigEndian.PutUint16(h[6:8], op) }

// SetSender changes both addresses of the sender.
func (h *ARP) SetSender(m MAC, ip uint32) {
	binary.BigEndian.PutUint32(h[8:12], uint32(m>>16))
	binary.BigEndian.PutUint16(h[12:14], uint16(m))
	binary.BigEndian.PutUint32(h[14:18], ip)
}

// SetTarget changes both addresses of the target.
func (h *ARP) SetTarget(m MAC, ip uint32) {
	binary.BigEndian.PutUint32(h[18:22], uint32(m>>16))
	binary.BigEndian.PutUint16(h[22:24], uint16(m))
	binary.BigEndian.PutUint32(h[24:28], ip)
}
