package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/test/peers"
)

// probeType is the EtherType of the frames (for experiments, IEEE Std 802): no kernel answers them.
const probeType = 0x88b5

// wire is one end of a veth port, where frames are sent and received as they are.
type wire struct {
	name string
	fd   int
}

// addWire adds a veth port to the bridge with a wire behind it.
func addWire(s *Switch, port string) *wire {
	s.t.Helper()
	n := s.AddNetns(port)
	if _, err := n.Run(context.Background(), "sysctl -qw net.ipv6.conf.eth0.disable_ipv6=1"); err != nil {
		s.t.Fatal(err)
	}
	fd, err := packetSocket(n, "eth0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = unix.Close(fd) })
	return &wire{port, fd}
}

// packetSocket opens a socket for frames of probeType on a device of a namespace.
func packetSocket(n *peers.Netns, dev string) (fd int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with the goroutine, it is in the wrong namespace
		var ns *os.File
		if ns, err = os.Open("/run/netns/" + n.Name); err != nil {
			return
		}
		defer ns.Close()
		if err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return
		}
		fd, err = boundSocket(dev)
	}()
	<-done
	return fd, err
}

func boundSocket(dev string) (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	request, err := unix.NewIfreq(dev)
	if err == nil {
		err = unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, request)
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20)
	}
	if err == nil {
		err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5})
	}
	if err == nil {
		proto := uint16(probeType>>8 | probeType&0xff<<8) // network order
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: proto, Ifindex: int(request.Uint32())})
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("packet socket on %s: %w", dev, err)
	}
	return fd, nil
}

// probes makes n frames of random lengths, up to longest bytes, and random contents, numbered.
func probes(seed uint64, n, longest int) [][]byte {
	rng := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	r := rand.New(rng)
	frames := make([][]byte, n)
	for i := range frames {
		size := 60 + r.IntN(longest-59)
		if i%16 == 0 { // the limits more often than chance has them
			size = []int{60, longest, 64, 256, 257}[i/16%5]
		}
		f := make([]byte, size)
		_, _ = rng.Read(f)
		copy(f, []byte{2, 0, 0, 0, 9, byte(seed), 2, 0, 0, 0, 8, byte(seed)})
		binary.BigEndian.PutUint16(f[12:], probeType)
		binary.BigEndian.PutUint32(f[14:], uint32(i))
		frames[i] = f
	}
	return frames
}

// underWay is how many frames are sent before one of them must have come: fewer than the smallest
// queue on the way holds, so that none may be lost.
const underWay = 64

// carry sends frames from one wire and expects them at the other: all, in order, as they were.
func carry(from, to *wire, frames [][]byte) error {
	got := make([]byte, 64<<10)
	for sent, seen := 0, 0; seen < len(frames); seen++ {
		for ; sent < len(frames) && sent < seen+underWay; sent++ {
			_, err := unix.Write(from.fd, frames[sent])
			for err == unix.EINTR {
				_, err = unix.Write(from.fd, frames[sent])
			}
			if err != nil {
				return fmt.Errorf("%s to %s: send frame %d of %d bytes: %w", from.name, to.name, sent, len(frames[sent]), err)
			}
		}
		n, err := unix.Read(to.fd, got)
		for err == unix.EINTR { // the runtime sends signals to its threads
			n, err = unix.Read(to.fd, got)
		}
		if err != nil {
			return fmt.Errorf("%s to %s: frame %d of %d bytes did not come: %w", from.name, to.name, seen, len(frames[seen]), err)
		}
		if want := frames[seen]; !bytes.Equal(got[:n], want) {
			return fmt.Errorf("%s to %s: got %s; want frame %d, %s", from.name, to.name, brief(got[:n]), seen, brief(want))
		}
	}
	return nil
}

// brief is what of a frame helps to see what became of it.
func brief(f []byte) string {
	number := -1
	if len(f) >= 18 {
		number = int(binary.BigEndian.Uint32(f[14:]))
	}
	return fmt.Sprintf("%d bytes %x..., number %d", len(f), f[:min(24, len(f))], number)
}

// carryBothWays carries n frames of up to longest bytes each way at the same time.
func carryBothWays(t *testing.T, a, b *wire, n, longest int) {
	t.Helper()
	errs := make(chan error, 2)
	begin := time.Now()
	go func() { errs <- carry(a, b, probes(1, n, longest)) }()
	go func() { errs <- carry(b, a, probes(2, n, longest)) }()
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d frames of up to %d bytes each way in %v", n, longest, time.Since(begin).Round(time.Millisecond))
}
