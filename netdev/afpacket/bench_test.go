package afpacket_test

import (
	"fmt"
	"testing"

	"github.com/gvswitch/gvswitch/netdev/netdevtest"
	"github.com/gvswitch/gvswitch/packet"
)

// A burst from one port to another over a veth pair: one sendmmsg, with the
// kernel's way to the other ring in it, and one look into that ring.
func BenchmarkBurst(b *testing.B) {
	for _, size := range []int{60, 1514} {
		b.Run(fmt.Sprintf("size=%d/burst=32", size), func(b *testing.B) {
			from, to := ports(b)
			frame, list := netdevtest.Frame(size, 1), make([]uint16, packet.MaxBurst)
			for i := range list {
				list[i] = uint16(i)
			}
			got := 0
			for b.Loop() {
				for i := range list {
					from.Burst.Pkts[i].SetBytes(frame)
				}
				from.Tx.Send(from.Burst, list, from.TxSt)
				if n := to.Rx.Recv(to.Burst, to.RxSt); n > 0 {
					got += n
					to.Rx.Release()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/frame")
			if got == 0 {
				b.Error("nothing arrived")
			}
		})
	}
}
