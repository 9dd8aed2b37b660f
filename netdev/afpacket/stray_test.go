package afpacket

import (
	"bytes"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
	"github.com/gvswitch/gvswitch/netdev/rawio"
	"github.com/gvswitch/gvswitch/packet"
)

// A frame that is missing from the slots or from the socket's queue of long frames
// costs some frames, and then both are in step again.
func TestStrayLongFrames(t *testing.T) {
	ns, peer := netdevtest.Netns(t), netdevtest.Netns(t)
	netdevtest.Pair(t, ns, "v0", peer, "v1")
	open := func(ns, name string) (*Device, *netdevtest.Port) {
		d := netdevtest.Open(t, Open, name, netdev.Options{Map: map[string]string{"netns": ns}}, &netdevtest.Host{})
		return d.(*Device), netdevtest.NewPort(d)
	}
	d, a := open(ns, "v0")
	_, b := open(peer, "v1")
	send := func(n int) {
		b.Send(netdevtest.Offload{Flags: packet.CsumPartial, GSO: packet.GSOTCPv4, Size: 1448, Start: 34, Off: 16, Hdr: 54}, netdevtest.TCP4(n))
	}
	waiting := func() {
		t.Helper()
		netdevtest.Eventually(t, 10*time.Second, "a frame in its slot", func() bool {
			return status(d.rx.ring.slot(d.rx.next))&unix.TP_STATUS_COPY != 0
		})
	}
	for _, c := range []struct {
		name string
		lose func()
	}{
		{"slot", func() {
			give(d.rx.ring.slot(d.rx.next))
			d.rx.next++
		}},
		{"queue", func() {
			if _, errno := rawio.Receive(d.fd, make([]byte, longest)); errno != 0 {
				t.Fatal(errno)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := a.RxSt.Drops[packet.RxError].Load()
			send(20000)
			waiting()
			c.lose()
			for i := range 3 {
				send(30000 + i)
			}
			got := a.Receive(3, 200*time.Millisecond)
			if lost := a.RxSt.Drops[packet.RxError].Load() - before; lost == 0 || lost > 4 {
				t.Errorf("%d lost", lost)
			}
			for _, g := range got {
				if n := len(g.Frame); !bytes.Equal(g.Frame, netdevtest.TCP4(n)) {
					t.Errorf("a damaged frame of %d bytes", n)
				}
			}
			if netdevtest.Readable(t, a.Rx.FD(), 0) {
				t.Error("readable though nothing waits: a sleeping thread would spin")
			}
			for i := range 20 {
				want := netdevtest.TCP4(40000 + i)
				send(len(want))
				if got := a.Receive(1, 10*time.Second); len(got) != 1 || !bytes.Equal(got[0].Frame, want) {
					t.Fatalf("long frame %d after it: received %d", i, len(got))
				}
			}
		})
	}
}
