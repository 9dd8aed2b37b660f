package flow

import (
	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/packet"
)

// TypeNone is the EtherType of a frame that has none: IEEE 802.3 with LLC, as in
// OVS.
const TypeNone = 0x05ff

// maxLabels is how deep an MPLS label stack is looked into.
const maxLabels = 3

// Offsets are where a frame's headers are, in bytes from its start.
type Offsets struct {
	// L3 is where the link layer's payload begins, behind at most two tags; 0 for a
	// frame without an Ethernet header.
	L3 uint16
	// L4 is where the IP packet's payload begins, behind IPv6 extension headers; 0 if
	// there is no IP packet or it is broken. In a later fragment no
	// header stands there.
	L4 uint16
	// End is where the IP packet ends: bytes from there on are padding. Without a
	// right IP packet it is the frame's length.
	End uint32
}

// Extract makes k the key of p, a packet as it was received: the rest of k
// behind the base is cleared. Whatever the bytes, there is a key.
//
// It may pull more of the frame into p's head, never writes to it, and says
// where the headers are.
func Extract(p *packet.Packet, k *Key) Offsets {
	clear(k[BaseWords:])
	return ExtractBase(p, k)
}

// extract is ExtractBase for every kind of frame.
//
//go:noinline
func extract(p *packet.Packet, k *Key) Offsets {
	*k.Base() = [BaseWords]uint64{}
	k[WordPort] = uint64(p.InPort) << 32
	o := Offsets{End: p.Len}
	if !pull(p, hdr.EthernetLen) {
		return o
	}
	eth := hdr.EthernetAt(p.Head(), 0)
	if eth == nil {
		return o
	}
	k[WordDst] = uint64(eth.Dst()) << 16
	l3, t := hdr.EthernetLen, eth.Type()
	src := uint64(eth.Src()) << 16
	if hdr.IsVLAN(t) {
		l3, t = k.tags(p, t)
	}
	if t < hdr.TypeMin {
		l3, t = snap(p, l3)
	}
	k[WordSrc] = src | uint64(t)
	o.L3 = uint16(l3)
	switch t {
	case hdr.TypeIPv4:
		k.ipv4(p, &o)
	case hdr.TypeIPv6:
		k.ipv6(p, &o)
	case hdr.TypeARP, hdr.TypeRARP:
		k.arp(p, l3)
	case hdr.TypeMPLS, hdr.TypeMPLSMC:
		k.mpls(p, l3)
	}
	return o
}

// tags reads at most two VLAN tags, the first of kind t, and gives where they end
// and the type behind them. A tag that the frame ends in, so that no type
// follows it, is not a tag.
func (k *Key) tags(p *packet.Packet, t uint16) (int, uint16) {
	l3 := hdr.EthernetLen
	for shift := 32; shift >= 0 && hdr.IsVLAN(t) && pull(p, l3+hdr.VLANLen); shift -= 32 {
		v := hdr.VLANAt(p.Head(), l3-2)
		if v == nil {
			break
		}
		k[WordVLAN] |= uint64(v.TPID())<<(16+shift) | uint64(v.TCI())<<shift
		l3 += hdr.VLANLen
		t = hdr.TypeAt(p.Head(), l3-2)
	}
	return l3, t
}

// snap looks for the EtherType of an IEEE 802.3 frame whose LLC header is at l3: in
// a SNAP header with no organisation (RFC 1042), or else there is none.
func snap(p *packet.Packet, l3 int) (int, uint16) {
	const n = 8 // LLC and SNAP
	if !pull(p, l3+n) {
		return l3, TypeNone
	}
	b := p.Head()[l3 : l3+n]
	if string(b[:6]) != "\xaa\xaa\x03\x00\x00\x00" {
		return l3, TypeNone
	}
	t := hdr.TypeAt(b, 6)
	if t < hdr.TypeMin {
		return l3, TypeNone
	}
	return l3 + n, t
}

// arp reads an ARP or RARP packet at l3.
func (k *Key) arp(p *packet.Packet, l3 int) {
	if !pull(p, l3+hdr.ARPLen) {
		return
	}
	h := hdr.ARPAt(p.Head(), l3)
	if h == nil || !h.IsEthernetIPv4() {
		return
	}
	k[WordIPSrc] = uint64(h.SenderIP())<<32 | uint64(h.TargetIP())
	if op := h.Op(); op <= 0xff {
		k[WordIP] = uint64(op) << 56
	}
	k[WordSHA] = uint64(h.SenderMAC()) << 16
	k[WordTHA] = uint64(h.TargetMAC()) << 16
}

// mpls reads the first entries of a label stack at l3. What is below the
// stack is not looked at.
func (k *Key) mpls(p *packet.Packet, l3 int) {
	for i := 0; i < maxLabels && pull(p, l3+hdr.MPLSLen); i++ {
		h := hdr.MPLSAt(p.Head(), l3)
		if h == nil {
			return
		}
		k.SetMPLS(i, h.Entry())
		if h.Bottom() {
			return
		}
		l3 += hdr.MPLSLen
	}
}

// pull is Packet.Pull with the usual case, that the bytes are there, inlined.
func pull(p *packet.Packet, n int) bool { return n <= int(p.HeadLen) || p.Pull(n) }
