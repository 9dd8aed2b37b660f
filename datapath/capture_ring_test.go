package datapath

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/gvswitch/gvswitch/packet"
)

// However small a ring is, a record that it may have fits it when it is empty; what it gives is what was put, and
// what it has no room for is counted.
func TestCaptureRing(t *testing.T) {
	for _, size := range []int{1 << 12, 1 << 13, 1 << 16} {
		r, err := newCaptureRing(size)
		if err != nil {
			t.Fatal(err)
		}
		defer r.free()
		rnd := rand.New(rand.NewPCG(uint64(size), 1))
		var b packet.Burst
		frame := make([]byte, 9000)
		type record struct {
			len  uint32
			data []byte
			port uint16
		}
		var in []record
		for i := range 20_000 {
			b.Start(1)
			p := &b.Pkts[0]
			n := 14 + rnd.IntN(100)
			if rnd.IntN(3) == 0 {
				n = 14 + rnd.IntN(len(frame)-14)
			}
			for k := range n {
				frame[k] = byte(i + k)
			}
			p.SetBytes(frame[:n])
			empty, missed := len(in) == 0, r.missed.Load()
			r.put(p, uint32(r.most()), uint64(i), uint16(i), In, packet.DropNone)
			r.publish()
			switch d := r.missed.Load() - missed; {
			case d == 0:
				in = append(in, record{uint32(n), bytes.Clone(frame[:min(n, r.most())]), uint16(i)})
			case d != 1 || empty:
				t.Fatalf("ring of %d, frame of %d bytes: %d missed, empty: %v", size, n, d, empty)
			}
			for len(in) > 0 && rnd.IntN(3) > 0 {
				var c Captured
				cycles, ok := r.peek(&c)
				if w := in[0]; !ok || uint16(cycles) != w.port || c.Len != w.len || !bytes.Equal(c.Data, w.data) {
					t.Fatalf("ring of %d: frame of %d bytes of %d read, want %d of %d", size, len(c.Data), c.Len, len(w.data), w.len)
				}
				r.next()
				in = in[1:]
			}
		}
	}
}
