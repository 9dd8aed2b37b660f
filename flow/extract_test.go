package flow

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/internal/hdr"
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/packet"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// lent keeps the last frames that were lent alive: a packet holds addresses only.
var (
	lent  [256][]byte
	nlent int
)

// lend makes p the frame b with a head of h bytes and a tail of pieces of n bytes.
func lend(p *packet.Packet, b []byte, h, n int) {
	lent[nlent%len(lent)] = b
	nlent++
	p.Reset()
	h = min(h, len(b))
	copy(p.Room(), b[:h])
	p.SetHead(h)
	for rest := b[h:]; len(rest) > 0; {
		k := min(n, len(rest))
		if int(p.NSegs) == packet.MaxSegs-1 {
			k = len(rest)
		}
		p.AddSeg(mem.AddrOf(rest), uint32(k))
		rest = rest[k:]
	}
}

// keyOf extracts b's key through several layouts, which must agree and leave the
// frame as it is.
func keyOf(t testing.TB, b []byte) (Key, Offsets) {
	t.Helper()
	var p packet.Packet
	var k Key
	p.SetBytes(b)
	p.InPort = 1
	o := Extract(&p, &k)
	// The short way and the long one agree, and the base is all they write.
	for i, way := range []func(*packet.Packet, *Key) Offsets{ExtractBase, extract} {
		var q packet.Packet
		q.SetBytes(b)
		q.InPort = 1
		k2 := Key{0: 1, BaseWords - 1: 98, Words - 1: 99}
		o2 := way(&q, &k2)
		if k2[Words-1] != 99 {
			t.Fatal("ExtractBase writes behind the base")
		}
		if k2[Words-1] = 0; k2 != k || o2 != o {
			t.Fatalf("%x, way %d: %+v\n%s\nExtract: %+v\n%s", b, i, o2, Format(&k2), o, Format(&k))
		}
	}
	for _, h := range []int{0, 13, 14, 20, 34, 60} {
		var q packet.Packet
		k2 := Key{Words - 1: 99}
		lend(&q, b, h, 1+h)
		q.InPort = 1
		if o2 := Extract(&q, &k2); k2 != k || o2 != o {
			t.Fatalf("head of %d bytes: %+v\n%s\nhead of 128: %+v\n%s", h, o2, Format(&k2), o, Format(&k))
		}
		if !bytes.Equal(q.AppendTo(nil), b) {
			t.Fatal("Extract changed the frame")
		}
	}
	return k, o
}

// B76: however much padding follows, the addresses and ports are in the key.
func TestPadding(t *testing.T) {
	b := unhex(t, "020000000002 020000000001 0800 4500001c00010000401166bc 0a090001 0a090002 0fa000350008dbf4")
	for _, pad := range []int{0, 18, 255, 256, 1472, 65000} {
		k, o := keyOf(t, append(bytes.Clone(b), make([]byte, pad)...))
		if k.IPv4Dst() != 0x0a090002 || k.TPDst() != 53 || o != (Offsets{14, 34, 42}) {
			t.Errorf("%d bytes of padding: %s, %+v", pad, Format(&k), o)
		}
	}
}

// B77: protocol 0 is a protocol like others.
func TestProtocolZero(t *testing.T) {
	k, o := keyOf(t, unhex(t, "020000000002 020000000001 0800 4500001c00010000400066cd 0a090001 0a090002 aaaaaaaaaaaaaaaa"))
	if want := "in_port=1,ip,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,nw_src=10.9.0.1,nw_dst=10.9.0.2,nw_proto=0,nw_tos=0,nw_ecn=0,nw_ttl=64"; Format(&k) != want {
		t.Errorf("got  %s\nwant %s", Format(&k), want)
	}
	if o != (Offsets{14, 34, 42}) {
		t.Errorf("%+v", o)
	}
	// IPv6 with no next header, and with a hop-by-hop header that is cut off.
	for next, ttl := range map[string]uint8{"3b": 64, "00": 0} {
		k, _ := keyOf(t, unhex(t, "020000000002 020000000001 86dd 6000000000 08 "+next+" 40 fd000000000000000000000000000001 fd000000000000000000000000000002 aaaaaaaaaaaaaaaa"))
		if hi, lo := k.IPv6Dst(); hi != 0xfd00<<48 || lo != 2 || k.TTL() != ttl || k[WordTP] != 0 {
			t.Errorf("next header %s: %s", next, Format(&k))
		}
	}
}

// B80: a header that lies about itself leaves neither addresses nor ports.
func TestBadIPv4(t *testing.T) {
	const macs = "020000000002 020000000001 0800 "
	ones := strings.Repeat("01", 24)
	for name, ip := range map[string]string{
		"IHL 11, total 40":      "4b00002800010000400654af 0a090001 0a090002" + ones,
		"IHL 4":                 "4400002800010000400654af 0a090001 0a090002" + ones,
		"IHL 0":                 "4000002800010000400654af 0a090001 0a090002" + ones,
		"total < IHL":           "4500001300010000400654af 0a090001 0a090002" + ones,
		"total 0":               "4500000000010000400654af 0a090001 0a090002" + ones,
		"total > frame":         "4500002d00010000400654af 0a090001 0a090002" + ones,
		"version 5":             "5500002800010000400654af 0a090001 0a090002" + ones,
		"version 6":             "6500002800010000400654af 0a090001 0a090002" + ones,
		"IHL 15 at frame's end": "4f00002800010000400654af 0a090001 0a090002" + ones[:40],
		"offset 8189":           "4500002800011ffd400654af 0a090001 0a090002" + ones,
		"offset 8189, more":     "4500002800013ffd400654af 0a090001 0a090002" + ones,
	} {
		k, o := keyOf(t, unhex(t, macs+ip))
		if k[WordIP] != 0 || k[WordIPSrc] != 0 || k[WordTP] != 0 || o.L4 != 0 || k.EthType() != 0x0800 {
			t.Errorf("%s: %s, %+v", name, Format(&k), o)
		}
	}
	// A frame that ends anywhere in the header.
	whole := unhex(t, macs+"4500001400010000400654af 0a090001 0a090002")
	for n := 14; n < len(whole); n++ {
		if k, _ := keyOf(t, whole[:n]); k[WordIP] != 0 || k[WordIPSrc] != 0 {
			t.Errorf("%d bytes: %s", n, Format(&k))
		}
	}
	if k, _ := keyOf(t, whole); k.IPv4Src() != 0x0a090001 {
		t.Error("whole header not read")
	}
}

// The same for IPv6.
func TestBadIPv6(t *testing.T) {
	const rest = "00 40 fd000000000000000000000000000001 fd000000000000000000000000000002 0fa000350008dbf4"
	for start, good := range map[string]bool{
		"60000000 0008 11": true, "40000000 0008 11": false, "70000000 0008 11": false, "60000000 0009 11": false, "60000000 ffff 11": false,
	} {
		k, o := keyOf(t, unhex(t, "020000000002 020000000001 86dd "+start+rest[2:]))
		if (k[WordIPDstLo] == 2) != good || (k.TPDst() == 53) != good || (o.L4 == 54) != good {
			t.Errorf("%s: %s, %+v", start, Format(&k), o)
		}
	}
}

// An L4 header counts only when all of it is in the IP packet: padding is not read
// as ports.
func TestCutL4(t *testing.T) {
	for proto, n := range map[byte]int{hdr.ProtoTCP: 20, hdr.ProtoUDP: 8, hdr.ProtoSCTP: 12, hdr.ProtoICMP: 8, hdr.ProtoIGMP: 8} {
		b := append(unhex(t, "020000000002 020000000001 0800 4500000000010000400666bb 0a090001 0a090002"), bytes.Repeat([]byte{1}, 40)...)
		b[23] = proto
		for have := range 40 {
			b[17] = byte(20 + have)
			if k, _ := keyOf(t, b); (k[WordTP] != 0) != (have >= n) || k.IPProto() != proto {
				t.Errorf("protocol %d, %d bytes: %s", proto, have, Format(&k))
			}
		}
	}
}

// B82: stacks and options are walked to a fixed depth, never past the end.
func TestStacks(t *testing.T) {
	macs := "020000000002 020000000001 "
	labels := macs + "8847" + strings.Repeat("00064040", 12) + "4500001400010000400654af0a0900010a090002"
	k, o := keyOf(t, unhex(t, labels))
	if k.MPLS(0) != 0x64040 || k.MPLS(2) != 0x64040 || k[WordIP] != 0 || o != (Offsets{14, 0, 14 + 48 + 20}) {
		t.Errorf("12 labels: %s, %+v", Format(&k), o)
	}
	k, _ = keyOf(t, unhex(t, macs+"8847 00064140 00065140"))
	if k.MPLS(0) != 0x64140 || k.MPLS(1) != 0 {
		t.Errorf("bottom of stack: %s", Format(&k))
	}

	k, o = keyOf(t, unhex(t, macs+strings.Repeat("81000005", 8)+"0800 4500001400010000400654af0a0900010a090002"))
	if k.VID() != 5 || k.EthType() != 0x8100 || k[WordIP] != 0 || o.L3 != 22 {
		t.Errorf("8 tags: %s, %+v", Format(&k), o)
	}
	k, o = keyOf(t, unhex(t, macs+"8100 0005"))
	if k[WordVLAN]>>48 != 0 || k.EthType() != 0x8100 || o.L3 != 14 {
		t.Errorf("tag at the frame's end: %s, %+v", Format(&k), o)
	}
	k, o = keyOf(t, unhex(t, macs+"88a8 f005 9100"))
	if tpid, tci := k.VLAN(); tpid != 0x88a8 || tci != 0xf005 || k.EthType() != 0x9100 || o.L3 != 18 {
		t.Errorf("tag and type only: %s, %+v", Format(&k), o)
	}

	v6 := macs + "86dd 60000000 %s 40 fd000000000000000000000000000001 fd000000000000000000000000000002 "
	frame := func(lenNext, rest string) []byte { return unhex(t, strings.Replace(v6, "%s", lenNext, 1)+rest) }
	// MLDv2 report, cut after 4 bytes, behind a router alert.
	k, o = keyOf(t, frame("000c 00", "3a00050200000100 8f0074a6"))
	if k.IPProto() != 58 || k.TPSrc() != 143 || o.L4 != 62 {
		t.Errorf("MLD: %s, %+v", Format(&k), o)
	}
	ns := "8700 0000 00000000 fd000000000000000000000000000003 "
	for opts, sll := range map[string]uint64{
		"01c8020000000001":                                   0, // 1600 bytes long
		"0100020000000001 0101020000000001":                  0, // no length
		"0101020000000001":                                   0x020000000001,
		"0e01000000000000 0101020000000001":                  0x020000000001, // nonce first
		"0e02000000000000 0000000000000000 0101020000000001": 0x020000000001,
	} {
		n := 24 + len(strings.ReplaceAll(opts, " ", ""))/2
		k, _ := keyOf(t, frame(hex.EncodeToString([]byte{0, byte(n), 58}), ns+opts))
		if _, lo := k.NDTarget(); lo != 3 || uint64(k.SHA()) != sll {
			t.Errorf("options %s: %s", opts, Format(&k))
		}
	}
	// The same address twice: nothing is believed.
	k, _ = keyOf(t, frame("0028 3a", ns+"0101020000000001 0101020000000009"))
	if hi, _ := k.NDTarget(); hi != 0 || k.SHA() != 0 || k.TPSrc() != 135 {
		t.Errorf("twice: %s", Format(&k))
	}

	// LLDP in all its forms is an EtherType and nothing more.
	for _, tlvs := range []string{"0207 04 020000000001 0403 07 7031 0602 0078 fe05 00040d0c01 0000", strings.Repeat("fe0500040d0c01", 100), "02ff04", ""} {
		k, o := keyOf(t, unhex(t, "0180c200000e 020000000001 88cc"+tlvs))
		if k.EthType() != 0x88cc || !k.EthDst().Reserved() || o.L3 != 14 {
			t.Errorf("LLDP: %s, %+v", Format(&k), o)
		}
	}
}

// A chain of extension headers longer than a head leaves the addresses only.
func TestExtensionChain(t *testing.T) {
	for _, n := range []int{1, 10, 20, 30, 100} {
		rest := strings.Repeat("3c00010400000000", n-1) + "0600010400000000" + "0fa0003500000000000000005002000000000000"
		b := unhex(t, "020000000002 020000000001 86dd 60000000 0000 3c 40 fd000000000000000000000000000001 fd000000000000000000000000000002"+rest)
		b[18], b[19] = byte(len(rest)/2>>8), byte(len(rest)/2)
		k, o := keyOf(t, b)
		fits := len(b)-20 <= packet.HeadCap
		if _, lo := k.IPv6Dst(); lo != 2 || (k.IPProto() == 6) != fits || (o.L4 == 0) == fits {
			t.Errorf("%d headers: %s, %+v", n, Format(&k), o)
		}
		if len(b) <= packet.HeadCap && k.TPDst() != 53 {
			t.Errorf("%d headers: no port", n)
		}
	}
}

func TestFragments(t *testing.T) {
	for _, c := range []struct{ name, ip, want string }{
		{"first", "4500001c00012000401146bc 0a090001 0a090002 0fa000350008dbf4", "nw_frag=first,tp_src=4000,tp_dst=53"},
		{"later", "4500001c00010001401166bb 0a090001 0a090002 0fa000350008dbf4", "nw_frag=later,tp_src=0,tp_dst=0"},
		{"middle", "4500001c00012001401146bb 0a090001 0a090002 0fa000350008dbf4", "nw_frag=later,tp_src=0,tp_dst=0"},
		{"DF", "4500001c00014000401126bc 0a090001 0a090002 0fa000350008dbf4", "nw_ttl=64,tp_src=4000,tp_dst=53"},
	} {
		k, _ := keyOf(t, unhex(t, "020000000002 020000000001 0800 "+c.ip))
		if got := Format(&k); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	for off, want := range map[string]string{"0001": "first", "0008": "later", "0009": "later", "0000": "first"} {
		k, o := keyOf(t, unhex(t, "020000000002 020000000001 86dd 60000000 0010 2c 40 fd000000000000000000000000000001 fd000000000000000000000000000002 1100"+off+"00000001 0fa000350008dbf4"))
		if fragText(&k) != want || k.IPProto() != 17 || (k.TPDst() == 53) != (want == "first") || o.L4 != 62 {
			t.Errorf("offset %s: %s, %+v", off, Format(&k), o)
		}
	}
}

func TestLLC(t *testing.T) {
	for b, want := range map[string]uint16{
		"0026 424203":                TypeNone, // spanning tree
		"0008 aaaa03000000 0800":     0x0800,
		"0008 aaaa03000000 0100":     TypeNone,
		"0008 aaaa0300000c 2000":     TypeNone, // an organisation's
		"0007 aaaa03000000 08":       TypeNone,
		"":                           0,
		"05ff aaaa03000000 8100":     0x8100,
		"0600":                       0x0600,
		"8100 0005 0008 aaaa0300 00": TypeNone,
	} {
		if b == "" {
			continue
		}
		if k, _ := keyOf(t, unhex(t, "020000000002 020000000001"+b)); k.EthType() != want {
			t.Errorf("%s: %#x, want %#x", b, k.EthType(), want)
		}
	}
}

func TestRunts(t *testing.T) {
	b := unhex(t, "020000000002 020000000001 0800")
	for n := range len(b) {
		if k, o := keyOf(t, b[:n]); k != (Key{WordPort: 1 << 32}) || o != (Offsets{End: uint32(n)}) {
			t.Errorf("%d bytes: %s, %+v", n, Format(&k), o)
		}
	}
}

// The key is that of the head as it was copied: a lender that changes its memory
// afterwards changes nothing.
func TestTailReadOnce(t *testing.T) {
	b, err := Compose("in_port=1,tcp6,ipv6_src=fd00::1,ipv6_dst=fd00::2,tp_src=1,tp_dst=2,tcp_flags=syn")
	if err != nil {
		t.Fatal(err)
	}
	var p packet.Packet
	var k, k2 Key
	lend(&p, b, 30, 9)
	Extract(&p, &k)
	clear(b)
	Extract(&p, &k2)
	if k != k2 || k.TPDst() != 2 {
		t.Errorf("%s\n%s", Format(&k), Format(&k2))
	}
}

func TestNoAllocs(t *testing.T) {
	var frames [][]byte
	for _, text := range examples {
		b, err := ComposeLen(text, 300)
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, b)
	}
	p, k := new(packet.Packet), new(Key)
	var sink uint64
	if n := testing.AllocsPerRun(20, func() {
		for _, b := range frames {
			p.SetBytes(b)
			Extract(p, k)
			sink += k.Hash(1)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzExtract(f *testing.F) {
	for _, text := range examples {
		b, err := Compose(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)*2/3])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || len(b) > packet.MaxFrame {
			return
		}
		k, o := keyOf(t, b)
		if int(o.L3) > len(b) || int(o.L4) > int(o.End) || int(o.End) > len(b) || o.L4 != 0 && o.L4 < o.L3 {
			t.Fatalf("%+v of %d bytes", o, len(b))
		}
		if !k.BaseOnly() {
			t.Fatal("beyond the base")
		}
		// What the text says is what the key is.
		for _, text := range []string{Format(&k), FormatDatapath(&k)} {
			if back, err := Parse(text); err != nil || back != k {
				t.Fatalf("%v: %s\nread back as %s", err, text, Format(&back))
			}
		}
	})
}

func TestHash(t *testing.T) {
	// Each single bit changes the hash, and in a thousand flows no two collide.
	var k Key
	for i := range k {
		k[i] = rand.Uint64()
	}
	h := k.Hash(7)
	for i := range Words * 64 {
		k[i/64] ^= 1 << (i % 64)
		if k.Hash(7) == h {
			t.Errorf("bit %d of word %d does not count", i%64, i/64)
		}
		k[i/64] ^= 1 << (i % 64)
	}
	clear(k[BaseWords:])
	if k.Hash(7) != k.HashBase(7) || k.Hash(7) == k.Hash(8) {
		t.Error("seed or base wrong")
	}
	seen := map[uint32]bool{}
	buckets := [64]int{}
	for port := range 64000 {
		k.SetTPSrc(uint16(port))
		h := k.Hash(7)
		seen[uint32(h)] = true
		buckets[h>>58]++
	}
	if len(seen) < 63990 {
		t.Errorf("64000 flows, %d hashes", len(seen))
	}
	for i, n := range buckets {
		if n < 800 || n > 1200 {
			t.Errorf("bucket %d has %d of 64000", i, n)
		}
	}
}

// Frames of the common kinds with any of their first bytes changed are read the same in both ways.
func TestExtractBase(t *testing.T) {
	for _, text := range []string{
		examples[0], examples[1], "tcp,dl_vlan=5,dl_vlan_pcp=1,nw_src=1.2.3.4,nw_dst=1.2.3.5,tp_src=1,tp_dst=2,tcp_flags=syn",
		"tcp6,ipv6_src=fd00::1,ipv6_dst=fd00::2,tp_src=1,tp_dst=2", "udp6,dl_vlan=5,dl_vlan_pcp=1,ipv6_label=0x12345,ipv6_src=fd00::1,ipv6_dst=fd00::2,tp_src=1,tp_dst=2",
	} {
		for _, n := range []int{0, 58, 60, 78, 200} {
			b, err := ComposeLen(text, n)
			if err != nil {
				t.Fatal(err)
			}
			keyOf(t, b)
			for i := range min(len(b), 80) {
				for _, v := range []byte{0, 1, 0xff, b[i] + 1, b[i] - 1, b[i] ^ 0x80, byte(rand.Uint32())} {
					c := bytes.Clone(b)
					c[i] = v
					keyOf(t, c)
				}
			}
			for cut := 1; cut < len(b); cut++ {
				keyOf(t, b[:cut])
			}
		}
	}
}

// fragText is what a key's text says of fragments.
func fragText(k *Key) string {
	return string(appendFrag(nil, uint64(k.Frag()), 3))
}
