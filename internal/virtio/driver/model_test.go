package driver

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// testFrame is frame number i with n bytes behind a header.
func testFrame(i, n int) []byte {
	f := bytes.Repeat([]byte{byte(i)}, testHeader+n)
	binary.LittleEndian.PutUint32(f, uint32(i))
	return f
}

// send adds a frame in pieces, the first of which has the header; false if there is no room.
func send(tx Tx, l *lab, frame []byte, r *rand.Rand) bool {
	var cuts []int
	for left := len(frame); left > 0; {
		n := min(left, testRoom-r.IntN(testRoom/2))
		if len(cuts) == 0 {
			n = min(left, max(n, testHeader+1))
		}
		cuts = append(cuts, n)
		left -= n
	}
	if tx.Reserve(len(cuts)) < len(cuts) {
		return false
	}
	h := tx.Held()
	for i, n := range cuts {
		off := uint32(r.IntN(testRoom - n + 1))
		mem.CopyOut(l.host(h.IDs[i], off), frame[:n])
		h.Pieces[i] = Piece{Off: off, Len: uint32(n), More: i < len(cuts)-1}
		frame = frame[n:]
	}
	tx.Add(len(cuts))
	return true
}

// drain takes up to n frames on the device's side.
func drain(t *testing.T, d virtio.Ring, n int) (frames [][]byte) {
	t.Helper()
	n = d.Gather(n)
	b := d.Held()
	for i := range n {
		c := &b.Chains[i]
		if c.Fault != virtio.OK {
			t.Fatalf("chain %d: fault %d", i, c.Fault)
		}
		var f []byte
		for _, s := range b.Segs[c.First:][:c.Count] {
			f = append(f, mem.Bytes(s.Addr, int(s.Len))...)
		}
		frames = append(frames, f)
	}
	d.Use(n)
	return frames
}

// Whatever is sent arrives at the device, once, in order and as it was, from rings of every
// kind, wherever they begin.
func TestTransmit(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			for seed := range uint64(seeds) {
				r := rand.New(rand.NewPCG(seed, 1))
				size := 1 << (2 + r.IntN(7))
				l := newLab(t, k, size, k.base(r, size))
				tx := l.tx(t)
				sent, got := 0, 0
				var want [][]byte
				for step := 0; step < 400; step++ {
					for range r.IntN(20) {
						f := testFrame(sent, 1+r.IntN(min(size, 4)*testRoom/3))
						if !send(tx, l, f, r) {
							break
						}
						want = append(want, f)
						sent++
					}
					tx.Publish()
					for _, f := range drain(t, l.device, r.IntN(40)) {
						if !bytes.Equal(f, want[got]) {
							t.Fatalf("seed %d: frame %d of %d bytes, want %d", seed, got, len(f), len(want[got]))
						}
						got++
					}
					if b := tx.Broken(); b != OK {
						t.Fatal(b)
					}
				}
				for n := 1; n > 0; got += n {
					n = len(drain(t, l.device, 40))
				}
				if got != sent || sent < 400 {
					t.Fatalf("seed %d: %d of %d frames", seed, got, sent)
				}
				if tx.Reclaim(); inFlight(tx) != 0 {
					t.Fatalf("seed %d: %d buffers are not back", seed, inFlight(tx))
				}
			}
		})
	}
}

// fill writes one frame to n of the device's chains, and uses them with others later.
func fillFrames(d virtio.Ring, r *rand.Rand, first int) (sent int) {
	n := d.Gather(r.IntN(40))
	b := d.Held()
	for i := range n {
		c := &b.Chains[i]
		f := testFrame(first+i, r.IntN(testRoom-testHeader))
		mem.CopyOut(b.Segs[c.First].Addr, f)
		c.Written = uint32(len(f))
	}
	d.Use(n)
	return n
}

// Whatever the device fills is collected once, in order and as it was.
func TestReceive(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			for seed := range uint64(seeds) {
				r := rand.New(rand.NewPCG(seed, 2))
				size := 1 << r.IntN(9)
				l := newLab(t, k, size, k.base(r, size))
				rx := l.rx(t)
				sent, got := 0, 0
				for range 400 {
					sent += fillFrames(l.device, r, sent)
					n := rx.Collect(r.IntN(70))
					take := r.IntN(n + 1)
					for i, f := range rx.Held().Bufs[:take] {
						b := mem.Bytes(l.host(f.ID, l.config.Offset), int(f.Len))
						if want := testFrame(got+i, int(f.Len)-testHeader); !bytes.Equal(b, want) {
							t.Fatalf("seed %d: frame %d is %x", seed, got+i, b[:4])
						}
					}
					rx.Post(take)
					got += take
					if b := rx.Broken(); b != OK {
						t.Fatal(b)
					}
				}
				if n := rx.Collect(size); got+n != sent || sent < 100 {
					t.Fatalf("seed %d: %d of %d frames", seed, got+n, sent)
				}
			}
		})
	}
}

// Neither side sleeps while there is something to do, and a side that is not armed is left alone.
func TestNotify(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			for seed := range uint64(seeds) {
				if err := notify(t, k, rand.New(rand.NewPCG(seed, 3))); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

func notify(t *testing.T, k kind, r *rand.Rand) error {
	size := 1 << (1 + r.IntN(6))
	l, m := newLab(t, k, size, k.base(r, size)), newLab(t, k, size, k.base(r, size))
	tx, rx := l.tx(t), m.rx(t)
	if k := tx.NeedKick(); k {
		return fmt.Errorf("a kick without a frame for a device that polls")
	}
	for i := range 3 * size {
		// The device sleeps: it is told once.
		if !l.device.Arm() {
			return fmt.Errorf("step %d: something is there for the device", i)
		}
		if !send(tx, l, testFrame(i, 50), r) {
			return fmt.Errorf("step %d: no room", i)
		}
		tx.Publish()
		if !tx.NeedKick() {
			return fmt.Errorf("step %d: the device sleeps and is not told", i)
		}
		l.device.Disarm()
		drain(t, l.device, 40)
		// So does the driver.
		if !rx.Arm() {
			return fmt.Errorf("step %d: something is there for the driver", i)
		}
		for fillFrames(m.device, r, i) == 0 {
		}
		if !m.device.NeedNotify() {
			return fmt.Errorf("step %d: the driver sleeps and is not told", i)
		}
		if rx.Arm() {
			return fmt.Errorf("step %d: the driver would sleep over a frame", i)
		}
		rx.Disarm()
		rx.Post(rx.Collect(size))
		m.device.NeedNotify()
		for fillFrames(m.device, r, i) == 0 {
		}
		if m.device.NeedNotify() {
			return fmt.Errorf("step %d: the driver polls and is told", i)
		}
		rx.Post(rx.Collect(size))
	}
	return nil
}
