package afpacket

import (
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/mem"
)

// Layout of a slot (struct tpacket2_hdr and sockaddr_ll of linux/if_packet.h).
const (
	slotStatus  = 0  // u32, who owns the slot and flags
	slotLen     = 4  // u32, the frame's length
	slotSnap    = 8  // u32, how much of it is in the slot
	slotMAC     = 12 // u16, where in the slot it starts; the net header is just before
	slotTCI     = 24 // u16, tag taken off by the kernel or the card
	slotTPID    = 26 // u16
	slotHeaders = 96 // more than tpacket2_hdr, sockaddr_ll, net header and their alignment take
)

const (
	minSlot = 2048
	maxSlot = 16384
	block   = 64 << 10 // unit of the kernel's allocation; a whole number of slots
)

// ring is the receive ring as mapped into memory. The kernel fills slots in order and
// sets their status to TP_STATUS_USER; the reader gives each back by setting it
// to 0. Each slot has one owner at a time, and only the owner writes to it.
type ring struct {
	memory []byte
	base   uintptr
	size   uintptr // bytes of a slot, a power of two
	mask   uint32  // slots - 1
}

// slotFor is the slot size for a device of this MTU: its frames, with tags that
// the kernel leaves in place.
func slotFor(mtu int) int {
	n := slotHeaders + 14 + 8 + mtu
	return min(max(minSlot, 1<<bits.Len(uint(n-1))), maxSlot)
}

// newRing gives the socket a ring of that many slots, a power of two of which at
// least one block is filled.
func newRing(fd, slots, size int) (*ring, error) {
	req := unix.TpacketReq{
		Block_size: block,
		Block_nr:   uint32(slots * size / block),
		Frame_size: uint32(size),
		Frame_nr:   uint32(slots),
	}
	if err := unix.SetsockoptTpacketReq(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req); err != nil {
		return nil, fmt.Errorf("receive ring of %d slots of %d bytes: %w", slots, size, err)
	}
	m, err := unix.Mmap(fd, 0, slots*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping the receive ring: %w", err)
	}
	return &ring{memory: m, base: mem.AddrOf(m), size: uintptr(size), mask: uint32(slots - 1)}, nil
}

func (r *ring) close() error { return unix.Munmap(r.memory) }

// slot is the address of the slot with this running number.
func (r *ring) slot(i uint32) uintptr { return r.base + uintptr(i&r.mask)*r.size }
