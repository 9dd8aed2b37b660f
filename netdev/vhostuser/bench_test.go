package vhostuser

import (
	"fmt"
	"testing"

	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
	"github.com/gvswitch/gvswitch/packet"
)

// BenchmarkRingToRing is what the two queues cost without a guest on another core:
// instructions, and not the transfer of cache lines, which dominates in real life.
func BenchmarkRingToRing(b *testing.B) {
	for _, size := range []int{64, 512, 1518} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			const ring = 256
			n := newNIC(b, ring, virtio.FVersion1|virtio.NetFMrgRxbuf|virtio.FInOrder, 2048, nil)
			at := uint64(memBase + memSize/2)
			for i := range ring {
				n.TX.RawDesc(i, at+uint64(2048*(i%32)), uint32(size+12), 0, 0)
				n.RX.RawDesc(i, at+uint64(2048*(ring+i%32)), 2048, virtiotest.Write, 0)
				n.TX.RawAvail(i, uint16(i))
				n.RX.RawAvail(i, uint16(i))
			}
			list := make([]uint16, packet.MaxBurst)
			for i := range list {
				list[i] = uint16(i)
			}
			idx := uint16(0)
			n.RX.RawAvailIdx(ring)
			for b.Loop() {
				idx += packet.MaxBurst
				n.TX.RawAvailIdx(idx)
				n.RX.RawAvailIdx(idx + ring - packet.MaxBurst)
				got := n.rx.Recv(n.b, &n.rs)
				n.tx.Send(n.b, list[:got], &n.ts)
				n.rx.Release()
				if got != packet.MaxBurst {
					b.Fatalf("%d received", got)
				}
			}
			if n.ts.Packets.Load() != n.rs.Packets.Load() {
				b.Fatalf("%d received, %d sent", n.rs.Packets.Load(), n.ts.Packets.Load())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/packet.MaxBurst, "ns/packet")
		})
	}
}
