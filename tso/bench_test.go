package tso

import (
	"fmt"
	"testing"

	"github.com/gvswitch/gvswitch/packet"
)

func BenchmarkComplete(b *testing.B) {
	for _, n := range []int{0, 1448, 8948} {
		b.Run(fmt.Sprintf("payload=%d", n), func(b *testing.B) {
			frame := tcp4(n, nil)
			var p packet.Packet
			lend(&p, frame, 128, 4096)
			b.SetBytes(int64(len(frame)))
			for b.Loop() {
				p.Flags, p.CsumStart, p.CsumOffset = packet.CsumPartial, 34, 16
				if !Complete(&p) {
					b.Fatal("refused")
				}
			}
		})
	}
}

func BenchmarkSanity(b *testing.B) {
	frame := tcp4(1448, make([]byte, 12))
	var p packet.Packet
	lend(&p, frame, 128, 4096)
	p.Flags, p.CsumStart, p.CsumOffset = packet.CsumPartial, 34, 16
	for b.Loop() {
		if !Sanity(&p) {
			b.Fatal("refused")
		}
	}
}

func BenchmarkSegment(b *testing.B) {
	for _, partial := range []bool{false, true} {
		b.Run(fmt.Sprintf("partial=%v", partial), func(b *testing.B) {
			c := spec{payload: pattern(64000), tcpopts: 12}
			var p, out packet.Packet
			c.gso(&p, 128, 4096, 1448)
			s := Segmenter{Partial: partial}
			b.SetBytes(int64(p.Len))
			segs := 0
			for b.Loop() {
				s.Start(&p)
				for s.Next(&out) {
					segs++
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(segs), "ns/segment")
		})
	}
}
