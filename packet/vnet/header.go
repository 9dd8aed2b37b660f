package vnet

import (
	"encoding/binary"

	"github.com/gvswitch/gvswitch/packet"
)

// Len is the size of the header with its num_buffers field (virtio 1.2, section
// 5.1.6). The legacy header is the first LegacyLen bytes.
const (
	Len       = 12
	LegacyLen = 10
)

// Flags and the ECN bit of gso_type, virtio 1.2, section 5.1.6.
const (
	flagNeedsCsum = 1
	flagDataValid = 2
	gsoECN        = 0x80
)

// Offsets of the header's fields, little endian (and for the kernel's own
// devices host endian, which is the same on all platforms of the switch).
const (
	offFlags   = 0
	offGSOType = 1
	offHdrLen  = 2
	offGSOSize = 4
	offStart   = 6
	offOffset  = 8
	offBuffers = 10
)

var le = binary.LittleEndian

// Decode sets p's offload state from h and reports whether header and frame fit
// together; if not, the frame is to be dropped as packet.RxBadOffload.
//
// Preconditions: p has been Reset and holds the whole frame.
//
// Postconditions, on true: with CsumPartial, the checksum field lies behind the
// Ethernet header and in the head. With a GSOType, CsumPartial is set, GSOSize
// is not 0, the frame really is TCP (UDP for USO) over the IP version that
// the type says, CsumStart is where that header begins, HdrLen is the true
// length of all headers, whatever the sender said, and they are all in the head.
//
// num_buffers and flags that virtio may define one day are ignored.
func Decode(h *[Len]byte, p *packet.Packet) bool {
	if h[offFlags]|h[offGSOType] == 0 {
		return true
	}
	return decode(h, p)
}

func decode(h *[Len]byte, p *packet.Packet) bool {
	if h[offFlags]&flagNeedsCsum != 0 {
		start, offset := le.Uint16(h[offStart:]), le.Uint16(h[offOffset:])
		// All in int: the sums do not fit 16 bits.
		if int(start) < packet.MinFrame || !p.Pull(int(start)+int(offset)+2) {
			return false
		}
		p.Flags |= packet.CsumPartial
		p.CsumStart, p.CsumOffset = start, offset
	} else if h[offFlags]&flagDataValid != 0 {
		p.Flags |= packet.CsumValid
	}
	if h[offGSOType] == 0 {
		return true
	}
	return decodeGSO(h, p)
}

func decodeGSO(h *[Len]byte, p *packet.Packet) bool {
	t := packet.GSOType(h[offGSOType] &^ gsoECN)
	size, said := le.Uint16(h[offGSOSize:]), le.Uint16(h[offHdrLen:])
	if size == 0 || uint32(said) > p.Len || p.Flags&packet.CsumPartial == 0 {
		return false
	}
	n := 0 // length of all headers
	switch t {
	case packet.GSOTCPv4:
		n = transport(p, 4, protoTCP)
	case packet.GSOTCPv6:
		n = transport(p, 6, protoTCP)
	case packet.GSOUDPL4:
		if n = transport(p, 4, protoUDP); n == 0 {
			n = transport(p, 6, protoUDP)
		}
	}
	if n == 0 || uint32(n) > p.Len {
		return false
	}
	if h[offGSOType]&gsoECN != 0 {
		if t == packet.GSOUDPL4 {
			return false
		}
		p.Flags |= packet.ECN
	}
	p.GSOType, p.GSOSize, p.HdrLen = t, size, uint16(n)
	return true
}

// Encode writes the header for p; num_buffers is 0. The peer must have agreed to
// what the packet needs. NEEDS_CSUM and DATA_VALID are never both set.
func Encode(p *packet.Packet, h *[Len]byte) {
	*h = [Len]byte{}
	if p.Flags == 0 && p.GSOType == packet.GSONone {
		return
	}
	encode(p, h)
}

func encode(p *packet.Packet, h *[Len]byte) {
	switch {
	case p.Flags&packet.CsumPartial != 0:
		h[offFlags] = flagNeedsCsum
		le.PutUint16(h[offStart:], p.CsumStart)
		le.PutUint16(h[offOffset:], p.CsumOffset)
	case p.Flags&packet.CsumValid != 0:
		h[offFlags] = flagDataValid
	}
	if p.GSOType == packet.GSONone {
		return
	}
	h[offGSOType] = uint8(p.GSOType)
	if p.Flags&packet.ECN != 0 {
		h[offGSOType] |= gsoECN
	}
	le.PutUint16(h[offHdrLen:], p.HdrLen)
	le.PutUint16(h[offGSOSize:], p.GSOSize)
}

// PutNumBuffers sets the header's last field: how many of the receiver's
// buffers the frame takes (virtio 1.2, section 5.1.6.4).
func PutNumBuffers(h *[Len]byte, n uint16) { le.PutUint16(h[offBuffers:], n) }
