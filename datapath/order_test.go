package datapath

import (
	"encoding/binary"
	"testing"

	"github.com/gvswitch/gvswitch/packet"
)

// numbered is a frame with a sequence number.
func numbered(dst, src int, n uint32) []byte {
	f := eth(dst, src)
	binary.BigEndian.PutUint32(f[40:], n)
	return f
}

func inOrder(t *testing.T, frames [][]byte, n int) {
	t.Helper()
	if len(frames) != n {
		t.Fatalf("%d of %d frames", len(frames), n)
	}
	for i, f := range frames {
		if got := binary.BigEndian.Uint32(f[40:]); got != uint32(i) {
			t.Fatalf("frame %d is number %d", i, got)
		}
	}
}

// B84: one flow whose frames take different ways (cached, looked up, edited,
// with and without offload state) leaves in the order in which it came.
func TestOrderInBurst(t *testing.T) {
	_, b, th := bare(t)
	in, out := newFake(t, 1), newFake(t, 1)
	plugDev(t, b, "in", portSpec("native-tagged 5"), in)
	p := plugDev(t, b, "out", portSpec("access 5"), out)
	if err := b.AddStaticMAC(p, 5, mac(2)); err != nil {
		t.Fatal(err)
	}
	const n = 10 * packet.MaxBurst
	for i := range n {
		f := numbered(2, 1, uint32(i))
		switch {
		case i%4 == 1: // a class of its own: another cache entry, missed at first
			f[15] = byte(i)
		case i%7 == 2: // tagged: popped
			f = append(f[:12:12], append([]byte{0x81, 0, 0, 5}, f[12:]...)...)
		case i%32 == 9: // an unknown source: learned
			copy(f[6:], mac(1000+i))
		}
		in.send(f)
	}
	for range 2 * n / packet.MaxBurst {
		th.iterate()
	}
	inOrder(t, out.sent(), n)
}

// Order holds while the queue moves from thread to thread.
func TestOrderAcrossThreads(t *testing.T) {
	d, b := newSwitch(t)
	_, in := plug(t, b, "in", trunk)
	p2, out := plug(t, b, "out", trunk)
	if err := b.AddStaticMAC(p2, 0, mac(2)); err != nil {
		t.Fatal(err)
	}
	const n = 20000
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range n {
			in.send(numbered(2, 1, uint32(i)))
		}
	}()
	for i := range 30 {
		if err := d.SetThreads(ThreadConfig{CPUs: [][]int{{0}, {1}, {1, 0}, nil}[i%4]}); err != nil {
			t.Fatal(err)
		}
		d.Rebalance()
	}
	<-done
	settle(t, in)
	inOrder(t, out.sent(), n)
}

// B98: a receiver that takes nothing costs others nothing.
func TestStuckReceiver(t *testing.T) {
	_, b := newSwitch(t)
	_, in := plug(t, b, "in", trunk)
	p2, stuck := plug(t, b, "stuck", trunk)
	p3, well := plug(t, b, "well", trunk)
	for i, p := range []*Port{p2, p3} {
		if err := b.AddStaticMAC(p, 0, mac(2+i)); err != nil {
			t.Fatal(err)
		}
	}
	stuck.mu.Lock()
	stuck.full = true
	stuck.mu.Unlock()
	for i := range 1000 {
		in.send(eth(2, 1), numbered(3, 1, uint32(i)))
	}
	settle(t, in)
	inOrder(t, well.sent(), 1000)
	if s := p2.Stats(); s.TxDrops[packet.TxRingFull] != 1000 || s.TxPackets != 0 {
		t.Errorf("%+v", s)
	}
}
