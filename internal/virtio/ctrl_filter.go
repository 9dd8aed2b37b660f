package virtio

import "encoding/binary"

// RxFilter says which frames a driver wants to receive (virtio 1.2, sections
// 5.1.6.5.1 to 5.1.6.5.3). Before the driver has said anything about addresses or VLANs, it gets
// all of them. The zero RxFilter lets everything through.
type RxFilter struct {
	ByAddr, ByVLAN bool // the driver has said something

	Promisc   bool // everything, of any VLAN
	AllMulti  bool
	AllUni    bool
	NoMulti   bool
	NoUni     bool
	NoBcast   bool
	MoreUni   bool // there are more than MACs has, so all
	MoreMulti bool

	Own   uint64   // the driver's address, 0 if it is not known: then it gets all unicast frames
	MACs  []uint64 // more, unicast and multicast; never changed
	VLANs [64]uint64
}

const macMask = 1<<48 - 1

// macKey is an address as a number: its first byte lowest.
func macKey(b []byte) uint64 {
	return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint16(b[4:]))<<32
}

// OwnMAC is the driver's address; false if it is not known.
func (f *RxFilter) OwnMAC() (mac [6]byte, ok bool) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], f.Own)
	return [6]byte(b[:]), f.Own != 0
}

// All tells whether every frame is wanted.
func (f *RxFilter) All() bool { return f.Promisc || !f.ByAddr && !f.ByVLAN }

// Wants tells whether the driver wants a frame that begins with head, 14 bytes at least.
func (f *RxFilter) Wants(head []byte) bool {
	if f.Promisc {
		return true
	}
	if f.ByVLAN && !f.wantsVLAN(head) {
		return false
	}
	if !f.ByAddr {
		return true
	}
	dst := binary.LittleEndian.Uint64(head) & macMask
	switch {
	case dst == macMask:
		return !f.NoBcast
	case dst&1 != 0:
		return !f.NoMulti && (f.AllMulti || f.MoreMulti || f.listed(dst))
	case f.NoUni:
		return false
	}
	return dst == f.Own || f.Own == 0 || f.AllUni || f.MoreUni || f.listed(dst)
}

// wantsVLAN: frames without a VLAN are wanted.
func (f *RxFilter) wantsVLAN(head []byte) bool {
	if len(head) < 16 || head[12] != 0x81 || head[13] != 0 {
		return true
	}
	id := binary.BigEndian.Uint16(head[14:]) & 0xfff
	return id == 0 || f.VLANs[id/64]&(1<<(id%64)) != 0
}

func (f *RxFilter) listed(mac uint64) bool {
	for _, m := range f.MACs {
		if m == mac {
			return true
		}
	}
	return false
}
