package datapath

import (
	"encoding/binary"
	"testing"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// tcp4 is a TCP segment over IPv4 with n bytes of payload, ready to be checksummed
// or cut as prep says.
func tcp4(dst, src, n int) []byte {
	f := append(append(mac(dst), mac(src)...), 8, 0)
	ip := make([]byte, 40+n)
	ip[0], ip[8], ip[9] = 0x45, 64, 6
	binary.BigEndian.PutUint16(ip[2:], uint16(40+n))
	copy(ip[12:], []byte{10, 0, 0, 1, 10, 0, 0, 2})
	ip[32] = 0x50
	for i := range n {
		ip[40+i] = byte(i)
	}
	return append(f, ip...)
}

func gso(size int) func(p *packet.Packet) {
	return func(p *packet.Packet) {
		p.Flags, p.CsumStart, p.CsumOffset = packet.CsumPartial, 34, 16
		p.GSOType, p.GSOSize, p.HdrLen = packet.GSOTCPv4, uint16(size), 54
	}
}

func partial(p *packet.Packet) {
	p.Flags, p.CsumStart, p.CsumOffset = packet.CsumPartial, 34, 16
}

// What a packet still needs is done for receivers that cannot do it themselves,
// and for those only.
func TestOffloads(t *testing.T) {
	all := netdev.TxCaps{Csum: true, TSO4: true, TSO6: true, ECN: true, USO: true}
	for _, c := range []struct {
		name  string
		caps  netdev.TxCaps
		frame []byte
		prep  func(p *packet.Packet)
		n     int
		want  offload
	}{
		{"partial, receiver takes it", all, tcp4(2, 1, 100), partial, 1, offload{flags: packet.CsumPartial}},
		{"partial, receiver does not", netdev.TxCaps{}, tcp4(2, 1, 100), partial, 1, offload{}},
		{"gso, receiver takes it", all, tcp4(2, 1, 10000), gso(1000), 1, offload{packet.CsumPartial, packet.GSOTCPv4, 1000}},
		{"gso, receiver takes partial", netdev.TxCaps{Csum: true}, tcp4(2, 1, 10000), gso(1000), 10, offload{flags: packet.CsumPartial}},
		{"gso, receiver takes nothing", netdev.TxCaps{}, tcp4(2, 1, 10000), gso(1000), 10, offload{}},
		{"gso, other kind taken", netdev.TxCaps{Csum: true, TSO6: true}, tcp4(2, 1, 10000), gso(1000), 10, offload{flags: packet.CsumPartial}},
		{"gso in more pieces than a burst", netdev.TxCaps{}, tcp4(2, 1, 64000), gso(500), 128, offload{}},
		{"gso longer than the receiver takes", netdev.TxCaps{Csum: true, TSO4: true, MaxLen: 5000}, tcp4(2, 1, 10000), gso(1000), 10, offload{flags: packet.CsumPartial}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, b := newSwitch(t)
			_, in := plug(t, b, "in", trunk)
			out := newFake(t, 1)
			out.caps = c.caps
			p := plugDev(t, b, "out", trunk, out)
			_, other := plug(t, b, "other", trunk)
			if err := b.AddStaticMAC(p, 0, mac(2)); err != nil {
				t.Fatal(err)
			}
			before, after := numbered(2, 1, 0), numbered(2, 1, 1)
			in.queue(0).mu.Lock() // one burst
			in.queue(0).frames = []frame{{before, nil}, {c.frame, c.prep}, {after, nil}}
			in.queue(0).mu.Unlock()
			in.queue(0).kick()
			settle(t, in)
			if len(out.out) != c.n+2 {
				t.Fatalf("%d frames", len(out.out))
			}
			inOrder(t, [][]byte{out.out[0], out.out[c.n+1]}, 2)
			payload := 0
			for i := 1; i <= c.n; i++ {
				f := out.out[i]
				payload += len(f) - 54
				if out.offl[i] != c.want {
					t.Errorf("piece %d: %+v, want %+v", i, out.offl[i], c.want)
				}
				if c.want.flags == 0 && tcpSum(f) != 0xffff {
					t.Errorf("piece %d: bad checksum", i)
				}
			}
			if payload != len(c.frame)-54 {
				t.Errorf("%d bytes of payload", payload)
			}
			// Flooded to receivers of both kinds.
			copy(c.frame, mac(-1))
			out.sent()
			in.queue(0).sendWith(c.frame, c.prep)
			settle(t, in)
			if out.count() != c.n || other.count() != 1 {
				t.Errorf("flooded: %d and %d", out.count(), other.count())
			}
		})
	}
}

// tcpSum is the sum over pseudo header and TCP; 0xffff is right. (The frames of
// tcp4 have a zero where the partial sum should be, so completing adds the
// rest: this is the sum without the pseudo header for those.)
func tcpSum(f []byte) uint16 {
	var sum uint32
	add := func(b []byte) {
		for i := 0; i+1 < len(b); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(b[i:]))
		}
		if len(b)%2 == 1 {
			sum += uint32(b[len(b)-1]) << 8
		}
	}
	end := 14 + int(binary.BigEndian.Uint16(f[16:]))
	add(f[34:end])
	if len(f) != 154 { // cut: the segmenter knows the pseudo header
		add(f[26:34])
		sum += 6 + uint32(end-34)
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}

func TestTooLong(t *testing.T) {
	for _, c := range []struct {
		mtu    int
		maxLen uint32
		len    int
		tagged bool
		want   packet.DropReason
	}{
		{1500, 0, 1518, false, packet.DropNone},
		{1500, 0, 1519, false, packet.TxOversize},
		{1500, 0, 1522, true, packet.DropNone},
		{1500, 0, 1523, true, packet.TxOversize},
		{0, 0, 9000, false, packet.DropNone},
		{0, 2000, 2000, false, packet.DropNone},
		{0, 2000, 2001, false, packet.TxTooLong},
		{9000, 2000, 2001, false, packet.TxTooLong},
	} {
		_, b := newSwitch(t)
		_, in := plug(t, b, "in", trunk)
		out := newFake(t, 1)
		out.info.MTU, out.caps.MaxLen = c.mtu, c.maxLen
		p := plugDev(t, b, "out", trunk, out)
		f := eth(-1, 1)
		if c.tagged {
			f = tagged(-1, 1, 7)
		}
		in.send(append(f, make([]byte, c.len)...)[:c.len])
		settle(t, in)
		s := p.Stats()
		if c.want == packet.DropNone && (s.TxPackets != 1 || s.TxDrops.Total() != 0) || c.want != packet.DropNone && s.TxDrops[c.want] != 1 {
			t.Errorf("%+v: %d sent, drops %v", c, s.TxPackets, s.TxDrops)
		}
	}
}

// Edits keep the offload state true.
func TestOffloadTravelsThroughEdits(t *testing.T) {
	_, b, th := bare(t)
	in, out := newFake(t, 1), newFake(t, 1)
	plugDev(t, b, "in", portSpec("access 9"), in)
	plugDev(t, b, "out", trunk, out)
	var start uint16
	out.onSend = func() { start = th.burst.Pkts[1].CsumStart } // the clone
	in.queue(0).sendWith(tcp4(-1, 1, 5000), gso(1000))
	th.iterate()
	if out.count() != 1 || out.offl[0] != (offload{packet.CsumPartial, packet.GSOTCPv4, 1000}) || len(out.out[0]) != 5058 || start != 38 {
		t.Errorf("%+v, checksum from %d", out.offl, start)
	}
}

// A frame whose offload state does not fit it is dropped where it comes in, whoever
// would have taken it: here the checksum would be written over the VLAN tag (B45).
func TestBadOffloadIsDropped(t *testing.T) {
	_, b := newSwitch(t)
	p, in := plug(t, b, "in", trunk)
	_, out := plug(t, b, "out", trunk)
	in.queue(0).hook = func(b *packet.Burst) {
		q := &b.Pkts[0]
		q.Flags, q.CsumStart, q.CsumOffset = packet.CsumPartial, 14, 0
	}
	in.send(tagged(-1, 1, 7))
	settle(t, in)
	if s := p.Stats(); s.RxDrops[packet.RxBadOffload] != 1 || out.count() != 0 {
		t.Errorf("dropped %d, forwarded %d", s.RxDrops[packet.RxBadOffload], out.count())
	}
}
