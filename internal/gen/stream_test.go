package gen

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/gvswitch/gvswitch/packet"
)

// traffic is what most tests begin with.
func traffic(v6, tcp bool, tags ...Tag) *Traffic {
	t := &Traffic{
		Sizes: []int{64}, Flows: 1, Vary: VarySrcPort | VarySrc | VaryDst, V6: v6, TCP: tcp, Tags: tags, MACs: 1,
		SrcMAC: net.HardwareAddr{2, 0, 0, 1, 0, 0}, DstMAC: net.HardwareAddr{2, 0, 0, 2, 0, 0},
		Src: netip.MustParseAddr("10.1.0.1"), Dst: netip.MustParseAddr("10.2.0.1"), SrcPort: 1024, DstPort: 5001,
	}
	if v6 {
		t.Src, t.Dst = netip.MustParseAddr("fd00:1::1"), netip.MustParseAddr("fd00:2::1")
	}
	return t
}

var testPattern = newPattern()

// frames makes n frames of a stream, 7 at a time.
func frames(s Source, n int) (all [][]byte, packets []packet.Packet) {
	b := new(packet.Burst)
	s.Prepare(b)
	for at := uint32(1000); n > 0; at++ {
		k := min(n, 7)
		s.Fill(b, k, at)
		for i := range k {
			all = append(all, b.Pkts[i].AppendTo(nil))
			packets = append(packets, b.Pkts[i])
		}
		n -= k
	}
	return all, packets
}

// decoded is a frame as the other library sees it, its checksums verified.
type decoded struct {
	eth      *layers.Ethernet
	tags     []*layers.Dot1Q
	src, dst string
	flow     string // 5-tuple
	payload  []byte
	proto    string
}

func decode(t *testing.T, frame []byte) decoded {
	t.Helper()
	p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
	if e := p.ErrorLayer(); e != nil {
		t.Fatalf("%x: %v", frame, e.Error())
	}
	d := decoded{eth: p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)}
	for _, l := range p.Layers() {
		if tag, ok := l.(*layers.Dot1Q); ok {
			d.tags = append(d.tags, tag)
		}
	}
	src, dst := p.NetworkLayer().NetworkFlow().Endpoints()
	d.src, d.dst = src.String(), dst.String()
	tr := p.TransportLayer()
	sp, dp := tr.TransportFlow().Endpoints()
	d.proto = tr.LayerType().String()
	d.flow = fmt.Sprint(d.proto, src, dst, sp, dp)
	d.payload = tr.LayerPayload()
	// The lengths and sums that the library would have written are those that are there.
	if c, ok := tr.(interface {
		SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
	}); ok {
		if err := c.SetNetworkLayerForChecksum(p.NetworkLayer()); err != nil {
			t.Fatal(err)
		}
	}
	out := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializePacket(out, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, p); err != nil {
		t.Fatal(err)
	}
	if got := out.Bytes(); !bytes.Equal(got[:min(len(got), len(frame))], frame) { // it pads short ones
		t.Errorf("checksums or lengths: frame\n%x, should be\n%x", frame, out.Bytes())
	}
	return d
}

// Frames of all kinds and sizes are what they should be, as another library sees them.
func TestFrames(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		for _, tcp := range []bool{false, true} {
			for _, tags := range [][]Tag{nil, {{TPID: 0x8100, VID: 10, PCP: 3}}, {{TPID: 0x88a8, VID: 100, VIDs: 5}, {TPID: 0x8100, VID: 200}}} {
				tr := traffic(v6, tcp, tags...)
				least := tr.marked()
				for _, sizes := range [][]int{{least}, {least + 1}, {127}, {128}, {129}, {1500}, {1501}, {9000}, {65535}, {least, 200, 1499, 130}} {
					tr := *tr
					tr.Sizes, tr.Flows, tr.MACs = sizes, 40, 3
					t.Run(fmt.Sprint(tr.kind(), sizes), func(t *testing.T) { testFrames(t, &tr) })
				}
			}
		}
	}
}

func testFrames(t *testing.T, tr *Traffic) {
	if err := tr.Validate(packet.MaxFrame); err != nil {
		t.Fatal(err)
	}
	s := newStream(tr, 1, 0, 1, testPattern)
	s.begin(5)
	all, _ := frames(s, 3*tr.Flows)
	seen := map[string]int{}
	for i, f := range all {
		if want := tr.Sizes[i%len(tr.Sizes)]; len(f) != want {
			t.Fatalf("frame %d has %d bytes, want %d", i, len(f), want)
		}
		d := decode(t, f)
		n := seen[d.flow]
		seen[d.flow]++
		if n >= 3 {
			t.Errorf("flow %s came too often", d.flow)
		}
		if !bytes.HasPrefix(d.eth.DstMAC, tr.DstMAC[:5]) || !bytes.HasPrefix(d.eth.SrcMAC, tr.SrcMAC[:5]) || d.eth.SrcMAC[5] != d.eth.DstMAC[5] || d.eth.SrcMAC[5] > 2 {
			t.Errorf("frame %d: addresses %v %v", i, d.eth.SrcMAC, d.eth.DstMAC)
		}
		if len(d.tags) != len(tr.Tags) {
			t.Fatalf("frame %d has %d tags", i, len(d.tags))
		}
		for k, tag := range tr.Tags {
			if v := d.tags[k].VLANIdentifier; v < tag.VID || v > tag.VID+uint16(max(tag.VIDs, 1)-1) || d.tags[k].Priority != tag.PCP {
				t.Errorf("frame %d: tag %d is %v", i, k, d.tags[k])
			}
		}
		if len(d.payload) < markLen(tr.TCP) {
			t.Fatalf("payload %d", len(d.payload))
		}
	}
	if len(seen) != tr.Flows {
		t.Errorf("%d flows, want %d", len(seen), tr.Flows)
	}
}

// Each field that shall vary does, and the others do not.
func TestVary(t *testing.T) {
	for _, c := range []struct {
		vary             Vary
		src, dst, sp, dp int
	}{
		{VarySrcPort, 1, 1, 50, 1},
		{VaryDstPort, 1, 1, 1, 50},
		{VarySrc, 50, 1, 1, 1},
		{VaryDst | VaryDstPort, 1, 50, 1, 50},
	} {
		tr := traffic(true, true)
		tr.Sizes, tr.Flows, tr.Vary = []int{100}, 50, c.vary
		all, _ := frames(newStream(tr, 0, 0, 1, testPattern), 50)
		var got [4]map[string]bool
		for i := range got {
			got[i] = map[string]bool{}
		}
		for _, f := range all {
			d := decode(t, f)
			got[0][d.src], got[1][d.dst] = true, true
			got[2][string(f[54:56])], got[3][string(f[56:58])] = true, true
		}
		if n := [4]int{len(got[0]), len(got[1]), len(got[2]), len(got[3])}; n != [4]int{c.src, c.dst, c.sp, c.dp} {
			t.Errorf("vary %b: %v different values", c.vary, n)
		}
	}
}

// The way back has the same flows with both ends exchanged.
func TestReverse(t *testing.T) {
	tr := traffic(false, false)
	tr.Flows, tr.MACs, tr.Vary = 30, 4, VarySrcPort|VaryDst
	back := tr.Reverse()
	forth, _ := frames(newStream(tr, 0, 0, 1, testPattern), 30)
	home, _ := frames(newStream(&back, 1, 0, 1, testPattern), 30)
	ends := func(f []byte, flip bool) string {
		a, b := string(f[6:12])+string(f[26:30])+string(f[34:36]), string(f[:6])+string(f[30:34])+string(f[36:38])
		if flip {
			a, b = b, a
		}
		return a + b
	}
	want := map[string]bool{}
	for _, f := range forth {
		want[ends(f, false)] = true
	}
	for _, f := range home {
		if !want[ends(f, true)] {
			t.Errorf("no flow forth for %x", f)
		}
		delete(want, ends(f, true))
	}
	if len(want) != 0 {
		t.Errorf("%d flows do not come back", len(want))
	}
}

// The queues of a port share the flows: each has its own.
func TestQueuesShareFlows(t *testing.T) {
	tr := traffic(false, false)
	tr.Flows = 10
	seen := map[string]int{}
	for q := range 3 {
		all, _ := frames(newStream(tr, 0, q, 3, testPattern), 100)
		for _, f := range all {
			key := decode(t, f).flow
			if n, ok := seen[key]; ok && n != q {
				t.Fatalf("queues %d and %d both send %s", n, q, key)
			}
			seen[key] = q
		}
	}
	if len(seen) != 10 {
		t.Errorf("%d flows", len(seen))
	}
}

// A partial checksum is the pseudo header's sum, and says where to go on.
func TestPartialChecksum(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		for _, tcp := range []bool{false, true} {
			tr := traffic(v6, tcp)
			tr.Sizes, tr.Checksum, tr.Flows = []int{111, 1400}, ChecksumPartial, 9
			all, packets := frames(newStream(tr, 0, 0, 1, testPattern), 30)
			for i, f := range all {
				p := &packets[i]
				if p.Flags != packet.CsumPartial {
					t.Fatal("not marked as partial")
				}
				at := int(p.CsumStart + p.CsumOffset)
				s := uint32(0)
				for k := int(p.CsumStart); k < len(f); k += 2 {
					s += uint32(f[k]) << 8
					if k+1 < len(f) {
						s += uint32(f[k+1])
					}
				}
				check := ^uint16(fold(s>>16 + s&0xffff))
				f[at], f[at+1] = byte(check>>8), byte(check)
				decode(t, f)
			}
		}
	}
}

func TestNoChecksum(t *testing.T) {
	tr := traffic(false, false)
	tr.Checksum = ChecksumNone
	all, _ := frames(newStream(tr, 0, 0, 1, testPattern), 3)
	if f := all[1]; f[40] != 0 || f[41] != 0 {
		t.Errorf("checksum % x", f[40:42])
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		change func(*Traffic)
		option string
	}{
		{func(t *Traffic) { t.Sizes = []int{55} }, "size"},
		{func(t *Traffic) { t.Sizes = []int{64, 1515} }, "size"},
		{func(t *Traffic) { t.Sizes = nil }, "size"},
		{func(t *Traffic) { t.Flows = 0 }, "flows"},
		{func(t *Traffic) { t.Flows, t.Vary = 65536-1024+1, VarySrcPort }, "flows"},
		{func(t *Traffic) { t.MACs = 0 }, "macs"},
		{func(t *Traffic) { t.Tags = []Tag{{VID: 4090, VIDs: 7}} }, "vlan"},
		{func(t *Traffic) { t.TCP, t.Checksum = true, ChecksumNone }, "checksum"},
		{func(t *Traffic) { t.Dst = netip.MustParseAddr("::1") }, "src-ip"},
	} {
		tr := traffic(false, false)
		if err := tr.Validate(1514); err != nil {
			t.Fatal(err)
		}
		c.change(tr)
		err := tr.Validate(1514)
		if o, ok := err.(*OptionError); !ok || o.Option != c.option {
			t.Errorf("--%s: error %v", c.option, err)
		}
	}
}

// learnFrames tell of every address in every VLAN in which it sends.
func TestLearnFrames(t *testing.T) {
	tr := traffic(false, false, Tag{TPID: 0x8100, VID: 5, VIDs: 3})
	tr.MACs, tr.Flows = 4, 1000
	want := map[string]bool{}
	all, _ := frames(newStream(tr, 0, 0, 1, testPattern), 1000)
	for _, f := range all {
		want[string(f[:16])] = true
	}
	for n := range tr.places() {
		delete(want, string(tr.learnFrame(n)[:16]))
	}
	if tr.places() != 12 || len(want) != 0 {
		t.Errorf("%d frames, %d places missing", tr.places(), len(want))
	}
}

func TestParseSizes(t *testing.T) {
	count := func(sizes []int) map[int]int {
		m := map[int]int{}
		for _, s := range sizes {
			m[s]++
		}
		return m
	}
	for text, want := range map[string]string{
		"64": "map[64:1]", "64-67": "map[64:1 65:1 66:1 67:1]", "imix": "map[64:7 594:4 1518:1]", "100:2,200": "map[100:2 200:1]",
	} {
		got, err := ParseSizes(text)
		if s := fmt.Sprint(count(got)); err != nil || s != want {
			t.Errorf("%s: %s, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "x", "13", "70000", "100-64", "64-", "64:0", "64:x", "64,", "64:99999"} {
		if _, err := ParseSizes(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	for _, c := range []struct{ size, flows int }{{64, 1}, {64, 1024}, {1518, 1024}} {
		b.Run(fmt.Sprintf("%d,%d", c.size, c.flows), func(b *testing.B) {
			tr := traffic(false, false)
			tr.Sizes, tr.Flows = []int{c.size}, c.flows
			s, burst := newStream(tr, 0, 0, 1, testPattern), new(packet.Burst)
			s.Prepare(burst)
			for i := 0; i < b.N; i += 32 {
				s.Fill(burst, 32, uint32(i))
			}
		})
	}
}
