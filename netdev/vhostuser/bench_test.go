package vhostuser

import (
	"fmt"
	"testing"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
	"github.com/gvswitch/gvswitch/packet"
)

// BenchmarkRingToRing is what the two queues cost without a guest on another core:
// instructions, and not the transfer of cache lines, which dominates in real life. The guest's
// work is in it: of a packed ring two stores a packet.
func BenchmarkRingToRing(b *testing.B) {
	for i, kind := range []string{"split", "split-in-order", "packed", "packed-in-order"} {
		for _, size := range []int{64, 512, 1518} {
			b.Run(fmt.Sprintf("%s/size=%d", kind, size), func(b *testing.B) { ringToRing(b, ringKinds[i], size) })
		}
	}
}

const benchRing = 256

func ringToRing(b *testing.B, kind uint64, size int) {
	n := newNIC(b, benchRing, virtio.FVersion1|virtio.NetFMrgRxbuf|kind, 2048, nil)
	at := uint64(memBase + memSize/2)
	for i := range benchRing {
		tx, rx := at+uint64(2048*(i%32)), at+uint64(2048*(benchRing+i%32))
		if n.TX.Packed() {
			n.TX.RawPacked(i, tx, uint32(size+12), uint16(i), virtiotest.UsedBit)
			n.RX.RawPacked(i, rx, 2048, uint16(i), virtiotest.UsedBit|virtiotest.Write)
			continue
		}
		n.TX.RawDesc(i, tx, uint32(size+12), 0, 0)
		n.RX.RawDesc(i, rx, 2048, virtiotest.Write, 0)
		n.TX.RawAvail(i, uint16(i))
		n.RX.RawAvail(i, uint16(i))
	}
	list := make([]uint16, packet.MaxBurst)
	for i := range list {
		list[i] = uint16(i)
	}
	give := n.giveSplit
	if n.TX.Packed() {
		give = n.givePacked(size)
	}
	idx := uint16(0)
	for b.Loop() {
		give(idx)
		idx += packet.MaxBurst
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
}

// giveSplit makes the next burst available in both rings.
func (n *nic) giveSplit(idx uint16) {
	n.TX.RawAvailIdx(idx + packet.MaxBurst)
	n.RX.RawAvailIdx(idx + packet.MaxBurst)
}

// givePacked is giveSplit for packed rings, which have to be written to.
func (n *nic) givePacked(size int) func(idx uint16) {
	tx, rx := mem.AddrOf(n.TX.Mem.At(n.TX.Desc, 16*benchRing)), mem.AddrOf(n.RX.Mem.At(n.RX.Desc, 16*benchRing))
	return func(idx uint16) {
		flags := uint64(virtiotest.AvailFlags(idx/benchRing%2 == 0))
		for i := idx % benchRing; i < idx%benchRing+packet.MaxBurst; i++ {
			word := uint64(i)<<32 | flags<<48
			mem.Store64(tx+16*uintptr(i)+8, word|uint64(size+12))
			mem.Store64(rx+16*uintptr(i)+8, word|uint64(virtiotest.Write)<<48|2048)
		}
	}
}
