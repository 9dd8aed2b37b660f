package driver

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/gvswitch/gvswitch/internal/mem"
)

// Driver and device on a thread each: under -race, with the rings on the Go heap, this checks that
// each side's writes are ordered before what makes them visible.
func TestThreads(t *testing.T) {
	const frames, size = 3000, 64
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 4))
			l := newLab(t, k, size, k.base(r, size))
			m := newLab(t, k, size, k.base(r, size))
			tx, rx := l.tx(t), m.rx(t)
			done := make(chan int)
			go func() { // the device sends back what it gets
				got := 0
				for got < frames {
					n := min(l.device.Gather(32), m.device.Gather(32))
					from, to := l.device.Held(), m.device.Held()
					for i := range n {
						a, b := &from.Chains[i], &to.Chains[i]
						at, total := to.Segs[b.First].Addr, uint32(0)
						for _, s := range from.Segs[a.First:][:a.Count] {
							mem.Move(at+uintptr(total), s.Addr, int(s.Len))
							total += s.Len
						}
						b.Written = total
					}
					l.device.Use(n)
					m.device.Use(n)
					if got += n; n == 0 {
						runtime.Gosched()
					}
				}
				done <- got
			}()
			sent, got := 0, 0
			for got < frames {
				for sent < frames && sent-got < size && send(tx, l, testFrame(sent, 1+sent%200), r) {
					sent++
				}
				tx.Publish()
				n := rx.Collect(32)
				for _, f := range rx.Held().Bufs[:n] {
					if b := mem.Bytes(m.host(f.ID, 0), int(f.Len)); !bytes.Equal(b, testFrame(got, 1+got%200)) {
						t.Fatalf("frame %d of %d bytes", got, len(b))
					}
					got++
				}
				rx.Post(n)
				if tx.Broken() != OK || rx.Broken() != OK {
					t.Fatal(tx.Broken(), rx.Broken())
				}
				if n == 0 {
					runtime.Gosched()
				}
			}
			<-done
		})
	}
}
