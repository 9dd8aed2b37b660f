package datapath

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
)

// compose makes a random frame of some kind, with right checksums.
func compose(r *rand.Rand, kind int) []byte {
	mac := func() []byte { return []byte{2, byte(r.Uint32()), 3, 4, byte(r.Uint32()), 6} }
	e := &layers.Ethernet{SrcMAC: mac(), DstMAC: mac()}
	ip4 := func() []byte { return []byte{10, byte(r.Uint32()), byte(r.Uint32()), 1} }
	ip6 := func() []byte {
		b := make([]byte, 16)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		b[0] = 0x20
		return b
	}
	var stack []gopacket.SerializableLayer
	var net gopacket.NetworkLayer
	if kind&1 == 0 {
		e.EthernetType = layers.EthernetTypeIPv4
		ip := &layers.IPv4{Version: 4, TTL: 64, TOS: uint8(r.Uint32()), SrcIP: ip4(), DstIP: ip4()}
		net = ip
		ip.Protocol = []layers.IPProtocol{layers.IPProtocolTCP, layers.IPProtocolUDP, layers.IPProtocolSCTP, layers.IPProtocolICMPv4}[kind>>1&3]
		stack = append(stack, e, ip)
	} else {
		e.EthernetType = layers.EthernetTypeIPv6
		ip := &layers.IPv6{Version: 6, HopLimit: 64, FlowLabel: r.Uint32() & 0xfffff, SrcIP: ip6(), DstIP: ip6()}
		net = ip
		ip.NextHeader = []layers.IPProtocol{layers.IPProtocolTCP, layers.IPProtocolUDP, layers.IPProtocolSCTP, layers.IPProtocolICMPv6}[kind>>1&3]
		stack = append(stack, e, ip)
	}
	switch kind >> 1 & 3 {
	case 0:
		l := &layers.TCP{SrcPort: layers.TCPPort(r.Uint32()), DstPort: layers.TCPPort(r.Uint32()), DataOffset: 5}
		_ = l.SetNetworkLayerForChecksum(net)
		stack = append(stack, l)
	case 1:
		l := &layers.UDP{SrcPort: layers.UDPPort(r.Uint32()), DstPort: layers.UDPPort(r.Uint32())}
		_ = l.SetNetworkLayerForChecksum(net)
		stack = append(stack, l)
	case 2:
		stack = append(stack, &layers.SCTP{SrcPort: layers.SCTPPort(r.Uint32()), DstPort: layers.SCTPPort(r.Uint32())})
	case 3:
		if kind&1 == 0 {
			stack = append(stack, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0), Id: 7})
		} else {
			l := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeNeighborSolicitation, 0)}
			_ = l.SetNetworkLayerForChecksum(net)
			stack = append(stack, l, &layers.ICMPv6NeighborSolicitation{
				TargetAddress: ip6(),
				Options:       layers.ICMPv6Options{{Type: layers.ICMPv6OptSourceAddress, Data: mac()}},
			})
		}
	}
	if !(kind>>1&3 == 3 && kind&1 == 1) {
		pay := make([]byte, 32+r.IntN(300)*4)
		for i := range pay {
			pay[i] = byte(r.Uint32())
		}
		stack = append(stack, gopacket.Payload(pay))
	}
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, stack...); err != nil {
		panic(err)
	}
	return append([]byte(nil), b.Bytes()...)
}

// sumsRight checks all checksums of a frame, without any of the code under test.
func sumsRight(t *testing.T, f []byte) {
	t.Helper()
	ones := func(b []byte, s uint32) uint32 {
		for i := 0; i < len(b); i += 2 {
			w := uint32(b[i]) << 8
			if i+1 < len(b) {
				w |= uint32(b[i+1])
			}
			s += w
		}
		for s>>16 != 0 {
			s = s&0xffff + s>>16
		}
		return s
	}
	at := 12
	for f[at] == 0x81 || f[at] == 0x88 && f[at+1] == 0xa8 {
		at += 4
	}
	typ := binary.BigEndian.Uint16(f[at:])
	ip := f[at+2:]
	var l4 []byte
	var proto byte
	var pseudo uint32
	switch typ {
	case 0x0800:
		if ones(ip[:20], 0) != 0xffff {
			t.Errorf("IPv4 header checksum of %x", ip[:20])
		}
		l4, proto = ip[20:binary.BigEndian.Uint16(ip[2:])], ip[9]
		pseudo = ones(ip[12:20], 0)
	case 0x86dd:
		l4, proto = ip[40:][:binary.BigEndian.Uint16(ip[4:])], ip[6]
		pseudo = ones(ip[8:40], 0)
	default:
		return
	}
	pseudo += uint32(proto) + uint32(len(l4))
	switch proto {
	case 17:
		if l4[6] == 0 && l4[7] == 0 {
			return
		}
	case 1:
		pseudo = 0
	case 132:
		c := append([]byte(nil), l4...)
		want := binary.LittleEndian.Uint32(c[8:])
		clear(c[8:12])
		if got := crc32.Checksum(c, crc32.MakeTable(crc32.Castagnoli)); got != want {
			t.Errorf("SCTP CRC %x, want %x", want, got)
		}
		return
	}
	if ones(l4, pseudo) != 0xffff {
		t.Errorf("checksum of protocol %d is wrong", proto)
	}
}

// editable are the bits that a Set may change in a key, by word.
func editable(k *flow.Key) map[uint16]uint64 {
	m := map[uint16]uint64{
		flow.WordDst: macBits, flow.WordSrc: macBits,
		flow.WordIP: 0xffff << 40, flow.WordIPSrc: ^uint64(0), flow.WordTP: 0xffffffff << 32,
	}
	if k.EthType() == 0x86dd {
		m[flow.WordIP] |= 0xfffff
		m[flow.WordIPSrcLo], m[flow.WordIPDst], m[flow.WordIPDstLo] = ^uint64(0), ^uint64(0), ^uint64(0)
		if k.IPProto() == 58 {
			delete(m, flow.WordTP) // its type says what the rest is
			m[flow.WordTarget], m[flow.WordTargetLo], m[flow.WordSHA], m[flow.WordMPLS2] = ^uint64(0), ^uint64(0), macBits, 0xffffffff
		}
	}
	if k.IPProto() == 1 {
		m[flow.WordTP] = 0xff<<48 | 0xff<<32
	}
	return m
}

// What an edit makes of a frame has the key that was asked for, and right checksums.
func TestSetIsTheKey(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var ed editor
	var p packet.Packet
	for n := range 20000 {
		f := compose(r, n%8)
		sumsRight(t, f)
		p.SetBytes(f)
		if n%16 >= 8 && n%8>>1 == 1 && n&1 == 0 { // UDP without a checksum
			p.Head()[40], p.Head()[41] = 0, 0
		}
		var k flow.Key
		flow.Extract(&p, &k)
		ed.known = false
		if n%3 == 0 {
			tag := 0x8100<<16 | r.Uint32()&0xffff
			if !ed.pushVLAN(&p, tag) {
				t.Fatal("no room")
			}
			k[flow.WordVLAN] = uint64(tag) << 32
		}
		for w, bits := range editable(&k) {
			if r.IntN(2) == 0 {
				continue
			}
			mask := bits
			if r.IntN(2) == 0 {
				mask &= r.Uint64()
			}
			v := r.Uint64()
			if !ed.set(&p, w, v, mask) {
				t.Fatalf("set %d refused, frame %x", w, f)
			}
			k[w] = k[w]&^mask | v&mask
		}
		if n%3 == 0 && n%2 == 0 {
			if !ed.popVLAN(&p) {
				t.Fatal("pop")
			}
			k[flow.WordVLAN] = 0
		}
		out := p.AppendTo(nil)
		var got flow.Key
		var q packet.Packet
		q.SetBytes(out)
		flow.Extract(&q, &got)
		if got != k {
			t.Fatalf("kind %d: key\n%x, want\n%x", n%8, got, k)
		}
		sumsRight(t, out)
		if t.Failed() {
			t.Fatalf("frame %x\nwas   %x", out, f)
		}
	}
}

// A partial checksum stays one: finishing it gives what editing the finished frame gives.
func TestSetKeepsPartial(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var ed editor
	for n := range 4000 {
		kind := n % 4 // TCP and UDP
		f := compose(r, kind)
		var whole, part packet.Packet
		whole.SetBytes(f)
		l4, field := 34, 16
		if kind&1 == 1 {
			l4 = 54
		}
		if kind>>1 == 1 {
			field = 6
		}
		g := append([]byte(nil), f...)
		// The sum of the pseudo header, from the frame itself.
		var s uint32
		add := func(b []byte) {
			for i := 0; i < len(b); i += 2 {
				s += uint32(b[i])<<8 | uint32(b[i+1])
			}
		}
		if kind&1 == 0 {
			add(g[26:34])
		} else {
			add(g[22:54])
		}
		s += uint32(len(g)-l4) + []uint32{6, 17}[kind>>1]
		for s>>16 != 0 {
			s = s&0xffff + s>>16
		}
		binary.BigEndian.PutUint16(g[l4+field:], uint16(s))
		part.SetBytes(g)
		part.Flags, part.CsumStart, part.CsumOffset = packet.CsumPartial, uint16(l4), uint16(field)
		for _, w := range []uint16{flow.WordIPSrc, flow.WordTP, flow.WordIP} {
			v := r.Uint64()
			mask := map[uint16]uint64{flow.WordIPSrc: ^uint64(0), flow.WordTP: 0xffffffff << 32, flow.WordIP: 0xffff << 40}[w]
			ed.known = false
			if !ed.set(&whole, w, v, mask) {
				t.Fatal("refused")
			}
			ed.known = false
			if !ed.set(&part, w, v, mask) {
				t.Fatal("refused")
			}
		}
		if part.Flags != packet.CsumPartial {
			t.Fatal("no longer partial")
		}
		sum := uint32(0)
		b := part.AppendTo(nil)
		for i := l4; i < len(b); i += 2 {
			w := uint32(b[i]) << 8
			if i+1 < len(b) {
				w |= uint32(b[i+1])
			}
			sum += w
		}
		for sum>>16 != 0 {
			sum = sum&0xffff + sum>>16
		}
		fin := ^uint16(sum)
		if fin == 0 && field == 6 {
			fin = 0xffff
		}
		binary.BigEndian.PutUint16(b[l4+field:], fin)
		sumsRight(t, b)
		sumsRight(t, whole.AppendTo(nil))
		if t.Failed() {
			t.Fatalf("kind %d, round %d\nwas      %x\nfinished %x\nwhole    %x", kind, n, f, b, whole.AppendTo(nil))
		}
	}
}

// MPLS entries come and go, and what is below stays.
func TestMPLS(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var ed editor
	for n := range 1000 {
		f := compose(r, n%8)
		var p packet.Packet
		p.SetBytes(f)
		ed.known = false
		if n%2 == 0 {
			ed.pushVLAN(&p, 0x88a80005)
		}
		if !ed.pushMPLS(&p, 0x8847, 0x12345140) || !ed.pushMPLS(&p, 0x8847, 0x54321040) {
			t.Fatal("no room")
		}
		if !ed.set(&p, flow.WordMPLS, 0xabcde<<44, 0xfffff<<44) {
			t.Fatal("set")
		}
		var k flow.Key
		flow.Extract(&p, &k)
		if k.EthType() != 0x8847 || k[flow.WordMPLS] != 0xabcde04012345140 {
			t.Fatalf("%x", k)
		}
		if !ed.popMPLS(&p, 0x8847) || !ed.popMPLS(&p, binary.BigEndian.Uint16(f[12:])) {
			t.Fatal("pop")
		}
		if n%2 == 0 && !ed.popVLAN(&p) {
			t.Fatal("pop_vlan")
		}
		if g := p.AppendTo(nil); string(g) != string(f) {
			t.Fatalf("%x\n%x", g, f)
		}
	}
}

// Whatever the bytes, an edit changes nothing beyond the frame, and fails rather than guess.
func FuzzSet(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	for kind := range 8 {
		f.Add(compose(r, kind), uint16(kind), r.Uint64(), ^uint64(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, w uint16, v, mask uint64) {
		if len(b) < packet.MinFrame || len(b) > 2000 {
			return
		}
		var p packet.Packet
		p.SetBytes(append([]byte(nil), b...))
		var ed editor
		ok := ed.set(&p, w%flow.Words, v, mask)
		got := p.AppendTo(nil)
		if len(got) != len(b) {
			t.Fatal("length")
		}
		if !ok && string(got) != string(b) {
			t.Fatal("a refused edit changed the frame")
		}
	})
}
