package flow

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/gvswitch/gvswitch/internal/hdr"
)

// What another parser finds in a composed frame is what the key says, and when it
// writes the frame itself, with lengths and checksums of its own, the bytes are
// the same.
func TestAgainstGopacket(t *testing.T) {
	for i := range 2000 {
		var r Key
		r.SetEthSrc(hdr.MAC(rand.Uint64() >> 16 &^ (1 << 40)))
		r.SetEthDst(hdr.MAC(rand.Uint64() >> 16))
		if i&1 != 0 {
			r.SetVLAN(hdr.TypeVLAN, uint16(rand.Uint32()))
		}
		proto := []uint8{hdr.ProtoTCP, hdr.ProtoUDP, hdr.ProtoSCTP}[i%3]
		r.SetIPProto(proto)
		r.SetTOS(uint8(rand.Uint32()))
		r.SetTTL(uint8(rand.Uint32()))
		r.SetTPSrc(uint16(20000 + rand.IntN(10000))) // no port that it knows a protocol for
		r.SetTPDst(uint16(20000 + rand.IntN(10000)))
		if proto == hdr.ProtoTCP {
			r.SetTCPFlags(uint16(rand.Uint32()) & 0x1ff)
		}
		if i%5 < 3 {
			r.SetEthType(hdr.TypeIPv4)
			r.SetIPv4Src(rand.Uint32())
			r.SetIPv4Dst(rand.Uint32())
		} else {
			r.SetEthType(hdr.TypeIPv6)
			r.SetIPv6Src(rand.Uint64(), rand.Uint64())
			r.SetIPv6Dst(rand.Uint64(), rand.Uint64())
			r.SetLabel(rand.Uint32())
		}
		payload := make([]byte, rand.IntN(300))
		if proto == hdr.ProtoSCTP {
			payload = nil // it would have to be chunks
		}
		for j := range payload {
			payload[j] = byte(rand.Uint32())
		}
		b := r.Frame(payload)
		k, _ := keyOf(t, b)
		k.SetInPort(0)
		if k != r {
			t.Fatalf("made %s\nread %s", Format(&r), Format(&k))
		}
		compareGopacket(t, &k, b)
	}
}

func compareGopacket(t *testing.T, k *Key, b []byte) {
	t.Helper()
	p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
	if e := p.ErrorLayer(); e != nil {
		t.Fatalf("%s: %v", Format(k), e.Error())
	}
	eth := p.LinkLayer().(*layers.Ethernet)
	if eth.SrcMAC.String() != k.EthSrc().String() || eth.DstMAC.String() != k.EthDst().String() {
		t.Fatalf("%s: %v", Format(k), eth)
	}
	if tag, ok := p.Layer(layers.LayerTypeDot1Q).(*layers.Dot1Q); ok != (k[WordVLAN]&TagPresent != 0) || ok && tag.VLANIdentifier != k.VID() {
		t.Fatalf("%s: tag %v", Format(k), tag)
	}
	switch h := p.NetworkLayer().(type) {
	case *layers.IPv4:
		if h.SrcIP.String() != ip4(k.IPv4Src()).String() || h.DstIP.String() != ip4(k.IPv4Dst()).String() ||
			h.TOS != k.TOS() || h.TTL != k.TTL() || uint8(h.Protocol) != k.IPProto() {
			t.Fatalf("%s: %v", Format(k), h)
		}
	case *layers.IPv6:
		if h.SrcIP.String() != ip6(k.IPv6Src()).String() || h.DstIP.String() != ip6(k.IPv6Dst()).String() ||
			h.TrafficClass != k.TOS() || h.HopLimit != k.TTL() || uint8(h.NextHeader) != k.IPProto() || h.FlowLabel != k.Label() {
			t.Fatalf("%s: %v", Format(k), h)
		}
	}
	switch h := p.TransportLayer().(type) {
	case *layers.TCP:
		_ = h.SetNetworkLayerForChecksum(p.NetworkLayer())
		if uint16(h.SrcPort) != k.TPSrc() || uint16(h.DstPort) != k.TPDst() || h.SYN != (k.TCPFlags()&hdr.TCPSyn != 0) || h.NS != (k.TCPFlags()&hdr.TCPNs != 0) {
			t.Fatalf("%s: %v", Format(k), h)
		}
	case *layers.UDP:
		_ = h.SetNetworkLayerForChecksum(p.NetworkLayer())
		if uint16(h.SrcPort) != k.TPSrc() || uint16(h.DstPort) != k.TPDst() {
			t.Fatalf("%s: %v", Format(k), h)
		}
	case *layers.SCTP:
		if uint16(h.SrcPort) != k.TPSrc() || uint16(h.DstPort) != k.TPDst() {
			t.Fatalf("%s: %v", Format(k), h)
		}
		return // its writer wants chunks
	}
	out := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializePacket(out, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, p); err != nil {
		t.Fatalf("%s: %v", Format(k), err)
	}
	if got := out.Bytes(); !bytes.Equal(got[:min(len(got), len(b))], b) {
		t.Fatalf("%s:\n%x\n%x", Format(k), b, got)
	}
}
