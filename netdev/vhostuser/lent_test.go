package vhostuser

import (
	"testing"

	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
	"github.com/gvswitch/gvswitch/packet"
)

// What is lent is counted, and only that: frames with more than a head, while lending is on.
func TestLentCounted(t *testing.T) {
	for _, lend := range []bool{true, false} {
		n := newNIC(t, 64, virtio.FVersion1|virtio.NetFMrgRxbuf, 2048, nil)
		n.rx.lend.Store(lend)
		sizes := []int{packet.MinFrame, 60, packet.HeadCopy, packet.HeadCopy + 1, 1514}
		for i, size := range sizes {
			// One frame in one piece, and the same in pieces that are none of the usual.
			shape := virtiotest.Shape{}
			if i%2 == 1 {
				shape.Cuts = []int{12, 30}
			}
			if !n.Send(virtiotest.Hdr{}, make([]byte, size), shape) {
				t.Fatal("no room to send")
			}
		}
		got := n.rx.Recv(n.b, &n.rs)
		if got != len(sizes) {
			t.Fatalf("received %d of %d frames", got, len(sizes))
		}
		n.rx.Release()
		packets, bytes := uint64(2), uint64(1+1514-packet.HeadCopy)
		if !lend {
			packets, bytes = 0, 0
		}
		if p, b := n.rs.Lent.Load(), n.rs.LentLen.Load(); p != packets || b != bytes {
			t.Errorf("lend %v: %d frames and %d bytes counted, want %d and %d", lend, p, b, packets, bytes)
		}
	}
}
