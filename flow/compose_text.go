package flow

import (
	"encoding/binary"
	"fmt"

	"github.com/gvswitch/gvswitch/internal/checksum"
	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/packet"
)

// minFrame is how short a composed frame is at the least: Ethernet's minimum
// without the frame check sequence, which nobody gives to a switch.
const minFrame = 60

// laterOffset is where a later fragment is composed to be, in units of 8 bytes.
const laterOffset = 100

// Compose makes a frame that has the flow of text, in either of Parse's forms, with
// right lengths and checksums. payload=HEX puts bytes behind its headers.
// Frames are not padded to Ethernet's minimum. An error names the field, its value
// and what is wrong.
func Compose(text string) ([]byte, error) {
	return ComposeLen(text, 0)
}

// ComposeLen is Compose for a frame of n bytes: its payload is continued with bytes
// that count up from 0. A frame that is longer already stays as it is.
func ComposeLen(text string, n int) ([]byte, error) {
	s, err := parse(text)
	if err != nil {
		return nil, err
	}
	if f := s.key.beyondBase(); f != nil {
		return nil, fmt.Errorf("flow: %s=%s: a new frame cannot have that", f.shown(), f.append(nil, f.Get(&s.key), f.full, nil, true))
	}
	b := s.key.Frame(s.payload)
	if n = max(n, len(b)); n > packet.MaxFrame {
		return nil, fmt.Errorf("flow: frame of %d bytes: at most %d", n, packet.MaxFrame)
	}
	if len(b) == n {
		return b, nil
	}
	for i := range n - len(b) {
		s.payload = append(s.payload, byte(i))
	}
	return s.key.Frame(s.payload), nil
}

// beyondBase is a field of k that no frame has, nil if there is none.
func (k *Key) beyondBase() *Field {
	if k.BaseOnly() {
		return nil
	}
	for _, f := range all {
		if f.slots[0].word >= BaseWords && !f.Get(k).IsZero() {
			return f
		}
	}
	return nil
}

// Pad lengthens a frame with zeros to Ethernet's minimum, 60 bytes without
// the frame check sequence.
func Pad(frame []byte) []byte {
	for len(frame) < minFrame {
		frame = append(frame, 0)
	}
	return frame
}

// Frame makes a frame whose key is k, as far as a frame can say what k does, with
// the given payload. It allocates: not for a packet's way.
func (k *Key) Frame(payload []byte) []byte {
	d, s := k.EthDst().Bytes(), k.EthSrc().Bytes()
	b := append(append(make([]byte, 0, 128+len(payload)), d[:]...), s[:]...)
	for shift := 32; shift >= 0; shift -= 32 {
		if tag := uint32(k[WordVLAN] >> shift); tag>>16 != 0 {
			b = binary.BigEndian.AppendUint32(b, tag)
		}
	}
	typeAt := len(b)
	b = binary.BigEndian.AppendUint16(b, k.EthType())
	c := k.kind()
	switch {
	case c.ip4:
		b = append(b, k.frame4(&c, payload)...)
	case c.ip6:
		b = append(b, k.frame6(&c, payload)...)
	case c.arp:
		b = append(append(b, k.frameARP()...), payload...)
	case c.mpls:
		b = append(k.appendMPLS(b), payload...)
	case k.EthType() < hdr.TypeMin:
		// IEEE 802.3: a length, and LLC's unnumbered information to the null SAP.
		b = append(append(b, 0, 0, 3), payload...)
		binary.BigEndian.PutUint16(b[typeAt:], uint16(len(b)-typeAt-2))
	default:
		b = append(b, payload...)
	}
	return b
}

func (k *Key) frame4(c *kind, payload []byte) []byte {
	l4 := k.frameL4(c, payload)
	b := make([]byte, hdr.IPv4Len, hdr.IPv4Len+len(l4))
	h := hdr.IPv4At(b, 0)
	h.SetVersionLen(hdr.IPv4Len)
	h.SetTOS(k.TOS())
	h.SetTotalLen(hdr.IPv4Len + len(l4))
	if k.Frag()&FragLater != 0 {
		h.SetFrag(laterOffset)
	} else if k.Frag() != 0 {
		h.SetFrag(hdr.IPv4MF)
	}
	h.SetTTL(k.TTL())
	h.SetProto(k.IPProto())
	h.SetSrc(k.IPv4Src())
	h.SetDst(k.IPv4Dst())
	h.SetChecksum(^checksum.Sum(b, 0))
	src, dst := h.Addresses()
	k.finish(c, l4, checksum.PseudoV4(src, dst, k.IPProto(), uint16(len(l4))))
	return append(b, l4...)
}

func (k *Key) frame6(c *kind, payload []byte) []byte {
	l4 := k.frameL4(c, payload)
	b := make([]byte, hdr.IPv6Len, hdr.IPv6Len+hdr.IPv6ExtLen+len(l4))
	if k.Frag() != 0 {
		off := uint16(hdr.IPv6MF)
		if k.Frag()&FragLater != 0 {
			off = laterOffset * 8
		}
		b = append(b, k.IPProto(), 0, byte(off>>8), byte(off), 0, 0, 0, 1)
	}
	h := hdr.IPv6At(b, 0)
	h.SetFlow(k.TOS(), k.Label())
	h.SetNext(k.IPProto())
	if k.Frag() != 0 {
		h.SetNext(hdr.ProtoFragment)
	}
	h.SetPayloadLen(len(b) - hdr.IPv6Len + len(l4))
	h.SetHopLimit(k.TTL())
	h.SetSrc(k.IPv6Src())
	h.SetDst(k.IPv6Dst())
	src, dst := h.Addresses()
	k.finish(c, l4, checksum.PseudoV6(src, dst, k.IPProto(), uint32(len(l4))))
	return append(b, l4...)
}

// frameL4 is the L4 header, its checksum still 0, and the payload.
func (k *Key) frameL4(c *kind, payload []byte) []byte {
	if k.Frag()&FragLater != 0 {
		return append([]byte(nil), payload...)
	}
	var b []byte
	switch {
	case c.tcp:
		b = make([]byte, hdr.TCPLen)
		h := hdr.TCPAt(b, 0)
		h.SetSrcPort(k.TPSrc())
		h.SetDstPort(k.TPDst())
		h.SetLenFlags(hdr.TCPLen, k.TCPFlags())
	case c.udp:
		b = make([]byte, hdr.UDPLen)
		h := hdr.UDPAt(b, 0)
		h.SetSrcPort(k.TPSrc())
		h.SetDstPort(k.TPDst())
		h.SetLen(hdr.UDPLen + len(payload))
	case c.sctp:
		b = make([]byte, hdr.SCTPLen)
		h := hdr.SCTPAt(b, 0)
		h.SetSrcPort(k.TPSrc())
		h.SetDstPort(k.TPDst())
	case c.icmp, c.igmp:
		b = make([]byte, hdr.ICMPLen)
		h := hdr.ICMPAt(b, 0)
		h.SetTypeCode(uint8(k.TPSrc()), uint8(k.TPDst()))
		if c.igmp {
			h.SetRest(k.IGMPGroup())
		}
	case c.nd:
		b = k.frameND()
	case c.icmpv6:
		b = make([]byte, hdr.ICMPLen)
		hdr.ICMPv6At(b, 0).SetTypeCode(uint8(k.TPSrc()), uint8(k.TPDst()))
	}
	return append(b, payload...)
}

func (k *Key) frameND() []byte {
	b := make([]byte, hdr.NDLen)
	hdr.ICMPv6At(b, 0).SetTypeCode(uint8(k.TPSrc()), 0)
	binary.BigEndian.PutUint32(b[4:], k.NDReserved())
	hdr.NDAt(b, 0).SetTarget(k.NDTarget())
	for option, m := range []hdr.MAC{1: k.SHA(), 2: k.THA()} {
		if m != 0 {
			a := m.Bytes()
			b = append(append(b, byte(option), 1), a[:]...)
		}
	}
	return b
}

func (k *Key) frameARP() []byte {
	b := make([]byte, hdr.ARPLen)
	h := hdr.ARPAt(b, 0)
	h.SetEthernetIPv4()
	h.SetOp(uint16(k.IPProto()))
	h.SetSender(k.SHA(), k.IPv4Src())
	h.SetTarget(k.THA(), k.IPv4Dst())
	return b
}

// appendMPLS appends the label stack. If no entry is the bottom, one with the null
// label (RFC 3032, section 2.1) ends it.
func (k *Key) appendMPLS(b []byte) []byte {
	const bottom = 1 << 8
	for i := range maxLabels {
		lse := k.MPLS(i)
		if i > 0 && lse == 0 {
			break
		}
		b = binary.BigEndian.AppendUint32(b, lse)
		if lse&bottom != 0 {
			return b
		}
	}
	return binary.BigEndian.AppendUint32(b, bottom)
}
