package hdr

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// Every ...At function gives a view exactly when the header fits.
func TestAtBounds(t *testing.T) {
	b := make([]byte, 80)
	for name, c := range map[string]struct {
		n  int
		at func(b []byte, off int) bool
	}{
		"Ethernet": {14, func(b []byte, off int) bool { return EthernetAt(b, off) != nil }},
		"VLAN":     {4, func(b []byte, off int) bool { return VLANAt(b, off) != nil }},
		"MPLS":     {4, func(b []byte, off int) bool { return MPLSAt(b, off) != nil }},
		"ARP":      {28, func(b []byte, off int) bool { return ARPAt(b, off) != nil }},
		"IPv4":     {20, func(b []byte, off int) bool { return IPv4At(b, off) != nil }},
		"IPv6":     {40, func(b []byte, off int) bool { return IPv6At(b, off) != nil }},
		"IPv6Ext":  {8, func(b []byte, off int) bool { return IPv6ExtAt(b, off) != nil }},
		"TCP":      {20, func(b []byte, off int) bool { return TCPAt(b, off) != nil }},
		"UDP":      {8, func(b []byte, off int) bool { return UDPAt(b, off) != nil }},
		"SCTP":     {12, func(b []byte, off int) bool { return SCTPAt(b, off) != nil }},
		"ICMP":     {8, func(b []byte, off int) bool { return ICMPAt(b, off) != nil }},
		"ICMPv6":   {4, func(b []byte, off int) bool { return ICMPv6At(b, off) != nil }},
		"ND":       {24, func(b []byte, off int) bool { return NDAt(b, off) != nil }},
		"NDOpt":    {8, func(b []byte, off int) bool { return NDOptAt(b, off) != nil }},
	} {
		for n := range 60 {
			for off := -2; off < 70; off++ {
				if got, want := c.at(b[:n], off), off >= 0 && off+c.n <= n; got != want {
					t.Fatalf("%sAt(%d bytes, %d): %v, want %v", name, n, off, got, want)
				}
			}
		}
		if c.at(b, int(^uint(0)>>1)) || c.at(b, -int(^uint(0)>>1)-1) {
			t.Errorf("%sAt accepts an offset beyond all bounds", name)
		}
	}
	if TypeAt([]byte{8, 0}, 0) != 0x0800 || TypeAt([]byte{8, 0}, 1) != 0 || TypeAt(nil, -1) != 0 {
		t.Error("TypeAt is wrong at the end")
	}
}

// field is one field of a header, read and written.
type field struct {
	name     string
	off, len int // bytes in the header
	get      func() uint64
	set      func(v uint64) // nil: nobody does
}

// check writes random values to each field and looks at the bytes: those of the
// field have changed to it, and no others. Then it reads them back.
func check(t *testing.T, b []byte, fields []field) {
	t.Helper()
	for _, f := range fields {
		for range 10 {
			for i := range b {
				b[i] = byte(rand.Uint32())
			}
			v := rand.Uint64() & (1<<(8*f.len) - 1)
			want := append([]byte{}, b...)
			var wire [8]byte
			binary.BigEndian.PutUint64(wire[:], v)
			copy(want[f.off:f.off+f.len], wire[8-f.len:])
			if f.set != nil {
				f.set(v)
			} else {
				copy(b, want)
			}
			if string(b) != string(want) {
				t.Errorf("%s: % x\nwant % x", f.name, b, want)
			}
			if got := f.get(); got != v {
				t.Errorf("%s: read %#x, wrote %#x", f.name, got, v)
			}
		}
	}
}

func TestEthernetFields(t *testing.T) {
	var e Ethernet
	check(t, e[:], []field{
		{"Dst", 0, 6, func() uint64 { return uint64(e.Dst()) }, func(v uint64) { e.SetDst(MAC(v)) }},
		{"Src", 6, 6, func() uint64 { return uint64(e.Src()) }, func(v uint64) { e.SetSrc(MAC(v)) }},
		{"Type", 12, 2, func() uint64 { return uint64(e.Type()) }, nil},
	})
	var tag VLAN
	check(t, tag[:], []field{
		{"TPID", 0, 2, func() uint64 { return uint64(tag.TPID()) }, nil},
		{"TCI", 2, 2, func() uint64 { return uint64(tag.TCI()) }, nil},
	})
	binary.BigEndian.PutUint16(tag[2:], 0xb123)
	if tag.VID() != 0x123 || tag.PCP() != 5 {
		t.Errorf("VID %#x, PCP %d", tag.VID(), tag.PCP())
	}
	var m MPLS
	binary.BigEndian.PutUint32(m[:], 0xabcde1ff)
	if m.Label() != 0xabcde || !m.Bottom() || m.TTL() != 255 {
		t.Errorf("MPLS %+v", m)
	}
}

func TestIPFields(t *testing.T) {
	var h IPv4
	check(t, h[:], []field{
		{"TOS", 1, 1, func() uint64 { return uint64(h.TOS()) }, func(v uint64) { h.SetTOS(uint8(v)) }},
		{"TotalLen", 2, 2, func() uint64 { return uint64(h.TotalLen()) }, func(v uint64) { h.SetTotalLen(int(v)) }},
		{"ID", 4, 2, func() uint64 { return uint64(h.ID()) }, func(v uint64) { h.SetID(uint16(v)) }},
		{"Frag", 6, 2, func() uint64 { return uint64(h.Frag()) }, func(v uint64) { h.SetFrag(uint16(v)) }},
		{"TTL", 8, 1, func() uint64 { return uint64(h.TTL()) }, func(v uint64) { h.SetTTL(uint8(v)) }},
		{"Proto", 9, 1, func() uint64 { return uint64(h.Proto()) }, func(v uint64) { h.SetProto(uint8(v)) }},
		{"Checksum", 10, 2, func() uint64 { return uint64(h.Checksum()) }, func(v uint64) { h.SetChecksum(uint16(v)) }},
		{"Src", 12, 4, func() uint64 { return uint64(h.Src()) }, func(v uint64) { h.SetSrc(uint32(v)) }},
		{"Dst", 16, 4, func() uint64 { return uint64(h.Dst()) }, func(v uint64) { h.SetDst(uint32(v)) }},
	})
	h.SetVersionLen(44)
	h.SetFrag(0x2000)
	if h.Version() != 4 || h.HeaderLen() != 44 || !h.IsFragment() {
		t.Errorf("IPv4 %+v", h)
	}
	h.SetFrag(IPv4DF)
	if h.IsFragment() {
		t.Error("DF is no fragment")
	}
	if src, dst := h.Addresses(); &src[0] != &h[12] || &dst[0] != &h[16] {
		t.Error("addresses elsewhere")
	}

	var s IPv6
	check(t, s[:], []field{
		{"PayloadLen", 4, 2, func() uint64 { return uint64(s.PayloadLen()) }, func(v uint64) { s.SetPayloadLen(int(v)) }},
		{"Next", 6, 1, func() uint64 { return uint64(s.Next()) }, func(v uint64) { s.SetNext(uint8(v)) }},
		{"HopLimit", 7, 1, func() uint64 { return uint64(s.HopLimit()) }, func(v uint64) { s.SetHopLimit(uint8(v)) }},
	})
	s.SetFlow(0xa5, 0x12345)
	s.SetSrc(1, 2)
	s.SetDst(3, 4)
	sh, sl := s.Src()
	dh, dl := s.Dst()
	if s.Version() != 6 || s.TOS() != 0xa5 || s.Label() != 0x12345 || sh != 1 || sl != 2 || dh != 3 || dl != 4 {
		t.Errorf("IPv6 % x", s)
	}
	if src, dst := s.Addresses(); &src[0] != &s[8] || &dst[0] != &s[24] {
		t.Error("addresses elsewhere")
	}
	e := IPv6Ext{6, 3, 0x12, 0x39, 0, 0, 0, 7}
	if e.Next() != 6 || e.Len(ProtoHopByHop) != 32 || e.Len(ProtoAH) != 20 || e.Len(ProtoFragment) != 8 ||
		e.Frag()&IPv6FragMask != 0x1238 || e.Frag()&IPv6MF == 0 || e.FragID() != 7 || e.SegmentsLeft() != 0x39 {
		t.Errorf("extension header %v", e)
	}
}

func TestL4Fields(t *testing.T) {
	var h TCP
	check(t, h[:], []field{
		{"SrcPort", 0, 2, func() uint64 { return uint64(h.SrcPort()) }, func(v uint64) { h.SetSrcPort(uint16(v)) }},
		{"DstPort", 2, 2, func() uint64 { return uint64(h.DstPort()) }, func(v uint64) { h.SetDstPort(uint16(v)) }},
		{"Seq", 4, 4, func() uint64 { return uint64(h.Seq()) }, func(v uint64) { h.SetSeq(uint32(v)) }},
		{"Ack", 8, 4, func() uint64 { return uint64(h.Ack()) }, nil},
		{"Window", 14, 2, func() uint64 { return uint64(h.Window()) }, nil},
		{"Checksum", TCPChecksum, 2, func() uint64 { return uint64(h.Checksum()) }, func(v uint64) { h.SetChecksum(uint16(v)) }},
	})
	h.SetLenFlags(44, 0xabc|TCPFin)
	if h.HeaderLen() != 44 || h.Flags() != 0xabd {
		t.Errorf("length %d, flags %#x", h.HeaderLen(), h.Flags())
	}
	if h.ClearFlags(TCPFin | TCPCwr); h.Flags() != 0xa3c || h.HeaderLen() != 44 {
		t.Errorf("flags %#x", h.Flags())
	}
	var u UDP
	check(t, u[:], []field{
		{"SrcPort", 0, 2, func() uint64 { return uint64(u.SrcPort()) }, func(v uint64) { u.SetSrcPort(uint16(v)) }},
		{"DstPort", 2, 2, func() uint64 { return uint64(u.DstPort()) }, func(v uint64) { u.SetDstPort(uint16(v)) }},
		{"Len", 4, 2, func() uint64 { return uint64(u.Len()) }, func(v uint64) { u.SetLen(int(v)) }},
		{"Checksum", UDPChecksum, 2, func() uint64 { return uint64(u.Checksum()) }, func(v uint64) { u.SetChecksum(uint16(v)) }},
	})
	var s SCTP
	check(t, s[:], []field{
		{"SrcPort", 0, 2, func() uint64 { return uint64(s.SrcPort()) }, func(v uint64) { s.SetSrcPort(uint16(v)) }},
		{"DstPort", 2, 2, func() uint64 { return uint64(s.DstPort()) }, func(v uint64) { s.SetDstPort(uint16(v)) }},
		{"Tag", 4, 4, func() uint64 { return uint64(s.Tag()) }, nil},
	})
	s.SetChecksum(0x04030201)
	if s.Checksum() != 0x04030201 || s[8] != 1 {
		t.Errorf("CRC on the wire % x", s[8:])
	}
	var i ICMP
	check(t, i[:], []field{
		{"Type", 0, 1, func() uint64 { return uint64(i.Type()) }, func(v uint64) { i.SetTypeCode(uint8(v), i.Code()) }},
		{"Code", 1, 1, func() uint64 { return uint64(i.Code()) }, func(v uint64) { i.SetTypeCode(i.Type(), uint8(v)) }},
		{"Checksum", ICMPChecksum, 2, func() uint64 { return uint64(i.Checksum()) }, func(v uint64) { i.SetChecksum(uint16(v)) }},
		{"Rest", 4, 4, func() uint64 { return uint64(i.Rest()) }, func(v uint64) { i.SetRest(uint32(v)) }},
	})
	var c ICMPv6
	check(t, c[:], []field{
		{"Type", 0, 1, func() uint64 { return uint64(c.Type()) }, func(v uint64) { c.SetTypeCode(uint8(v), c.Code()) }},
		{"Code", 1, 1, func() uint64 { return uint64(c.Code()) }, func(v uint64) { c.SetTypeCode(c.Type(), uint8(v)) }},
		{"Checksum", ICMPChecksum, 2, func() uint64 { return uint64(c.Checksum()) }, func(v uint64) { c.SetChecksum(uint16(v)) }},
	})
}

func TestARPAndND(t *testing.T) {
	var a ARP
	if a.SetEthernetIPv4(); !a.IsEthernetIPv4() {
		t.Error("not Ethernet and IPv4")
	}
	for i := range 6 {
		if a[i]++; a.IsEthernetIPv4() {
			t.Errorf("byte %d does not count", i)
		}
		a[i]--
	}
	check(t, a[:], []field{{"Op", 6, 2, func() uint64 { return uint64(a.Op()) }, func(v uint64) { a.SetOp(uint16(v)) }}})
	a = ARP{}
	a.SetSender(0x010203040506, 0x0708090a)
	a.SetTarget(0x0b0c0d0e0f10, 0x11121314)
	for i := range 20 {
		if a[8+i] != byte(i+1) {
			t.Fatalf("% x", a)
		}
	}
	if a.SenderMAC() != 0x010203040506 || a.SenderIP() != 0x0708090a || a.TargetMAC() != 0x0b0c0d0e0f10 || a.TargetIP() != 0x11121314 {
		t.Error("read back differs")
	}
	n := ND{4: 0x60, 15: 1, 23: 2}
	if hi, lo := n.Target(); n.Reserved() != 0x60000000 || hi != 1 || lo != 2 {
		t.Errorf("ND % x", n)
	}
	n.SetTarget(3, 4)
	if n[15] != 3 || n[23] != 4 {
		t.Errorf("ND % x", n)
	}
	o := NDOpt{2, 3, 1, 2, 3, 4, 5, 6}
	if o.Type() != 2 || o.Len() != 24 || o.LinkAddr() != 0x010203040506 {
		t.Errorf("option % x", o)
	}
}

func TestMAC(t *testing.T) {
	m := MAC(0x525400123456)
	b := m.Bytes()
	if MACOf(&b) != m || m.String() != "52:54:00:12:34:56" || m.Multicast() {
		t.Errorf("%s, % x", m, b)
	}
	if !Broadcast.Multicast() || !MAC(0x0180c200000e).Reserved() || MAC(0x0180c2000010).Reserved() || !MAC(0x0180c2000010).Multicast() {
		t.Error("group addresses are wrong")
	}
}

func TestNames(t *testing.T) {
	for _, p := range []uint8{0, 43, 44, 51, 60} {
		if !IsIPv6Ext(p) {
			t.Errorf("%d is an extension header", p)
		}
	}
	if IsIPv6Ext(6) || IsIPv6Ext(50) || IsIPv6Ext(59) || !IsVLAN(0x8100) || !IsVLAN(0x88a8) || IsVLAN(0x0800) {
		t.Error("names are wrong")
	}
}
