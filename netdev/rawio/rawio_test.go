package rawio

import (
	"bytes"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/packet/vnet"
)

func bytesOf(n int, x byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i) ^ x
	}
	return b
}

func TestVectorRoundTrip(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = unix.Close(fds[0]), unix.Close(fds[1]) }()
	batch, pkts := new(Batch), make([]packet.Packet, 3)
	bodies := [][]byte{bytesOf(60, 1), bytesOf(1500, 2), bytesOf(4000, 3)}
	for i := range pkts {
		b := bodies[i]
		pkts[i].Reset()
		h := copy(pkts[i].Room(), b[:60])
		pkts[i].SetHead(h)
		for rest := b[60:]; len(rest) > 0; rest = rest[min(len(rest), 700):] {
			pkts[i].AddSeg(mem.AddrOf(rest), uint32(min(len(rest), 700)))
		}
		batch.Vector(i).Fill(&pkts[i], vnet.LegacyLen)
	}
	if n, errno := batch.Send(fds[0], 1, 3); n != 2 || errno != 0 {
		t.Fatal(n, errno)
	}
	batch.Vector(0).Fill(&pkts[0], vnet.Len)
	if errno := batch.Vector(0).Write(fds[0]); errno != 0 {
		t.Fatal(errno)
	}
	for i, hdr := range []int{vnet.LegacyLen, vnet.LegacyLen, vnet.Len} {
		want := bodies[(i+1)%3]
		h, a, b := make([]byte, hdr), make([]byte, 20), make([]byte, 8000)
		var got []byte
		if i == 1 {
			n, errno := Receive(fds[1], b[:100])
			if n != hdr+len(want) || errno != 0 {
				t.Error(n, errno)
			}
			got, want = b[hdr:100], want[:100-hdr]
		} else {
			n, errno := Read(fds[1], h, a, b)
			if errno != 0 {
				t.Fatal(errno)
			}
			got = append(a, b[:n-hdr-len(a)]...)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("frame %d differs", i)
		}
	}
	if _, errno := Read(fds[1], make([]byte, 9), make([]byte, 9), make([]byte, 9)); errno != unix.EAGAIN {
		t.Error(errno)
	}
	if n, errno := batch.Send(int(os.Stdin.Fd()), 0, 1); n != 0 || errno != unix.ENOTSOCK {
		t.Error(n, errno)
	}
}

func TestFits(t *testing.T) {
	tagged := func(n, tags int) []byte {
		b := make([]byte, n)
		for i := range tags {
			copy(b[12+4*i:], []byte{0x81, 0})
		}
		return b
	}
	for _, c := range []struct {
		frame []byte
		gso   uint16
		mtu   uint32
		want  bool
	}{
		{tagged(1514, 0), 0, 1500, true},
		{tagged(1515, 0), 0, 1500, false},
		{tagged(1518, 0), 0, 1500, false},
		{tagged(1518, 1), 0, 1500, true},
		{tagged(1519, 1), 0, 1500, false},
		{tagged(1522, 2), 0, 1500, true},
		{tagged(1526, 3), 0, 1500, false},
		{tagged(9000, 0), 0, 0, true},
		{tagged(9000, 0), 1460, 1500, true},
		{tagged(9000, 0), 1461, 1500, false},
		{tagged(14, 0), 0, 68, true},
	} {
		var p packet.Packet
		p.SetBytes(c.frame)
		if c.gso != 0 {
			p.GSOType, p.GSOSize, p.HdrLen = packet.GSOTCPv4, c.gso, 54
		}
		if got := Fits(&p, c.mtu); got != c.want {
			t.Errorf("%d bytes, gso %d, MTU %d: %v", len(c.frame), c.gso, c.mtu, got)
		}
	}
}

func TestNoAllocs(t *testing.T) {
	var p packet.Packet
	p.SetBytes(bytesOf(1500, 0))
	batch := new(Batch)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	fd, buf := int(null.Fd()), make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		batch.Vector(0).Fill(&p, vnet.Len)
		batch.Vector(0).Write(fd)
		batch.Send(fd, 0, 1)
		Read(fd, buf, buf, buf)
		Receive(fd, buf)
		SocketError(fd)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
