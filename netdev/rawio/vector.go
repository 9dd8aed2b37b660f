package rawio

import (
	"encoding/binary"

	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

// maxParts is header, head and tail of a packet.
const maxParts = 2 + packet.MaxSegs

// iovec is struct iovec. The address is an integer, so storing it costs no write
// barrier.
type iovec struct {
	base uintptr
	len  uint64
}

// Vector is a frame with a virtio net header in front, as the kernel takes it.
type Vector struct {
	n     int
	parts [maxParts]iovec
	hdr   [vnet.Len]byte
}

// Fill makes v the packet p behind the first hdrLen bytes of its header. v refers
// to p and its tail until the call that sends it.
func (v *Vector) Fill(p *packet.Packet, hdrLen int) {
	vnet.Encode(p, &v.hdr)
	v.parts[0] = iovec{addrOf(&v.hdr), uint64(hdrLen)}
	head := p.Head()
	v.parts[1] = iovec{base(head), uint64(len(head))}
	segs := p.Segs()
	for i := range segs {
		v.parts[2+i] = iovec{segs[i].Addr, uint64(segs[i].Len)}
	}
	v.n = 2 + len(segs)
}

// Fits reports whether p may leave by a device of the given MTU (0 = anything
// goes): the frame, or each frame that a GSO packet will be cut into, has at
// most mtu bytes behind the Ethernet header and VLAN tags.
func Fits(p *packet.Packet, mtu uint32) bool {
	n := p.Len
	if p.GSOType != packet.GSONone {
		n = uint32(p.HdrLen) + uint32(p.GSOSize)
	}
	if n <= mtu+packet.MinFrame || mtu == 0 {
		return true
	}
	return n <= mtu+packet.MinFrame+tags(p.Head())
}

// tags is how many bytes of VLAN tags follow the addresses.
func tags(head []byte) uint32 {
	n := uint32(0)
	for off := 12; off+2 <= len(head) && n < 8; off += 4 {
		if t := binary.BigEndian.Uint16(head[off:]); t != 0x8100 && t != 0x88a8 {
			break
		}
		n += 4
	}
	return n
}
