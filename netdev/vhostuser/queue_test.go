package vhostuser

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// nic is a guest's network card in the test's own memory and the two queues
// that serve it.
type nic struct {
	*virtiotest.Net
	rx *rxQueue
	tx *txQueue
	b  *packet.Burst
	rs netdev.RxStats
	ts netdev.TxStats

	features uint64
}

// ringKinds are the features that make another kind of ring each.
var ringKinds = []uint64{0, virtio.FInOrder, virtio.FRingPacked, virtio.FRingPacked | virtio.FInOrder}

func eachKind(t *testing.T, f func(t *testing.T, kind uint64)) {
	for i, name := range []string{"split", "split in order", "packed", "packed in order"} {
		t.Run(name, func(t *testing.T) { f(t, ringKinds[i]) })
	}
}

const (
	memBase = 0x1000
	memSize = 4 << 20
)

// newNIC makes one with receive buffers of rxBuf bytes, cut as given, and slots of
// 70000 bytes for what it sends. Its memory is two regions here.
func newNIC(t testing.TB, size int, features uint64, rxBuf int, rxCuts []int) *nic {
	t.Helper()
	half := make([]byte, memSize/2)
	m := virtiotest.Memory{{Guest: memBase, B: half}, {Guest: memBase + memSize/2, B: make([]byte, memSize/2)}}
	n := &nic{Net: &virtiotest.Net{HdrLen: virtio.NetHdrLen(features), Mergeable: features&virtio.NetFMrgRxbuf != 0, RxCuts: rxCuts}, b: new(packet.Burst)}
	t.Cleanup(n.close)
	at := uint64(memBase)
	tx := virtiotest.New(m, at, size, features)
	at += uint64(virtiotest.RingBytes(size))
	rx := virtiotest.New(m, at, size, features)
	at += uint64(virtiotest.RingBytes(size))
	n.SetRx(rx, at, rxBuf, size)
	at += uint64(size * virtiotest.SlotBytes(rxBuf))
	n.SetTx(tx, at, 70000, int((memBase+memSize-at)/uint64(virtiotest.SlotBytes(70000))))

	n.features = features
	n.restart(t, rx.Start(), tx.Start())
	n.Fill()
	return n
}

// restart sets both rings up anew at those positions, with all buffers free.
func (n *nic) restart(t testing.TB, rx, tx uint16) {
	t.Helper()
	n.ResetRings(tx, rx)
	n.attach(t, rx, tx)
}

// attach makes the queues of a switch that begins at those positions.
func (n *nic) attach(t testing.TB, rx, tx uint16) {
	t.Helper()
	n.close()
	var err error
	if n.rx, err = newRxQueue(n.config(t, n.TX, tx, false)); err != nil {
		t.Fatal(err)
	}
	if n.tx, err = newTxQueue(n.config(t, n.RX, rx, true)); err != nil {
		t.Fatal(err)
	}
}

func (n *nic) close() {
	if n.rx != nil {
		n.rx.close()
		n.tx.close()
	}
}

// config is the device side of one of the rings.
func (n *nic) config(t testing.TB, r *virtiotest.Ring, position uint16, write bool) ringConfig {
	t.Helper()
	var regions []mem.Region
	for _, x := range r.Mem {
		regions = append(regions, mem.Region{Guest: x.Guest, Size: uint64(len(x.B)), Host: mem.AddrOf(x.B)})
	}
	table, err := mem.NewMap(regions)
	if err != nil {
		t.Fatal(err)
	}
	addr := func(g uint64) uintptr { return mem.AddrOf(r.Mem.At(g, 1)) }
	s, err := virtio.New(virtio.Config{
		Size: r.Size, Desc: addr(r.Desc), Avail: addr(r.Avail), Used: addr(r.Used),
		Features: n.features, Mem: table, DeviceWrites: write, Base: r.Base(position),
	})
	if err != nil {
		t.Fatal(err)
	}
	return ringConfig{ring: s, kickFD: -1, callFD: -1, features: n.features, zeroCopy: true, retries: 8}
}

func randomFrame(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// loop moves everything the guest sent back to it and returns how much that was.
func (n *nic) loop() int {
	got := n.rx.Recv(n.b, &n.rs)
	if got == 0 {
		return 0
	}
	list := make([]uint16, got)
	for i := range list {
		list[i] = uint16(i)
	}
	n.tx.Send(n.b, list, &n.ts)
	n.rx.Release()
	return got
}

// back sends one frame around and returns what came back.
func (n *nic) back(t *testing.T, frame []byte, s virtiotest.Shape) *virtiotest.Frame {
	t.Helper()
	if !n.Send(virtiotest.Hdr{}, frame, s) {
		t.Fatal("no room to send")
	}
	n.loop()
	f, err := n.Recv()
	if err != nil {
		t.Fatal(err)
	}
	n.Fill()
	return f
}

const modern = virtio.FVersion1 | virtio.NetFMrgRxbuf | virtio.FIndirectDesc | virtio.FEventIdx

// One frame, its header and bytes cut at every position, comes through the same
// (B36); so do odd cuts, tables, and a header a byte at a time.
func TestEveryCut(t *testing.T) {
	eachKind(t, func(t *testing.T, kind uint64) {
		for _, features := range []uint64{modern, virtio.FVersion1 | virtio.FIndirectDesc, 0} {
			n := newNIC(t, 64, features|kind|virtio.FIndirectDesc, 2048, nil)
			frame := randomFrame(1514)
			for at := 1; at < n.HdrLen+len(frame); at++ {
				s := virtiotest.Shape{Cuts: []int{at}, Indirect: at%3 == 1}
				if f := n.back(t, frame, s); f == nil || !bytes.Equal(f.Data, frame) {
					t.Fatalf("features %#x, cut at %d: frame differs or is lost", features, at)
				}
			}
			for _, s := range []virtiotest.Shape{
				{Cuts: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
				{Cuts: []int{5, 9, 12}, Indirect: true, Direct: 1},
				{Cuts: []int{5, 9, 12, 100, 141, 142, 143, 500}, Indirect: true},
			} {
				if f := n.back(t, frame, s); f == nil || !bytes.Equal(f.Data, frame) {
					t.Fatalf("features %#x, %+v: frame differs or is lost", features, s)
				}
			}
		}
	})
}

// Frames that are too short for their header, or for Ethernet, are returned and
// counted, and what follows is not disturbed.
func TestRunts(t *testing.T) {
	eachKind(t, func(t *testing.T, kind uint64) {
		for size := range packet.MinFrame {
			n := newNIC(t, 16, modern|kind, 2048, nil)
			n.Queue(virtiotest.Hdr{}, make([]byte, size), virtiotest.Shape{})
			want := randomFrame(packet.MinFrame)
			if f := n.back(t, want, virtiotest.Shape{}); f == nil || !bytes.Equal(f.Data, want) {
				t.Fatalf("after a runt of %d: frame differs or is lost", size)
			}
			if got := n.rs.Drops[packet.RxRunt].Load(); got != 1 {
				t.Errorf("runt of %d: counted %d times", size, got)
			}
			if n.InFlight() != 0 {
				t.Error("chain not returned")
			}
		}
		n := newNIC(t, 16, modern|kind, 2048, nil)
		n.TX.Add(virtiotest.Elem{Addr: memBase, Len: 11}) // not even a header
		n.TX.Publish()
		if n.loop() != 0 || n.rs.Drops[packet.RxRunt].Load() != 1 || n.TX.Pending() != 1 {
			t.Errorf("chain of 11 bytes: %d used", n.TX.Pending())
		}
	})
}

// Sizes up to the longest, in receive buffers of all kinds: merged, cut, small first piece.
func TestSizesAndBuffers(t *testing.T) {
	eachKind(t, func(t *testing.T, kind uint64) {
		for _, c := range []struct {
			features uint64
			buf      int
			cuts     []int
		}{
			{modern, 1526, nil},
			{modern, 1526, []int{6}}, // header over two descriptors
			{modern, 4096, []int{12, 1000}},
			{modern, 300, nil},
			{virtio.FVersion1, 65562, []int{12, 4096}},
			{0, 66000, []int{10}},
		} {
			size := 256
			if c.buf > 60000 {
				size = 16
			}
			n := newNIC(t, size, c.features|kind, c.buf, c.cuts)
			for _, l := range []int{14, 60, 127, 128, 129, 140, 141, 1500, 1513, 1514, 1515, 9000, 65535, packet.MaxFrame} {
				frame := randomFrame(l)
				f := n.back(t, frame, virtiotest.Shape{Cuts: []int{12, 4000, 20000}})
				fits := l <= 64*c.buf && c.features&virtio.NetFMrgRxbuf != 0 || l <= c.buf-n.HdrLen
				switch {
				case fits && (f == nil || !bytes.Equal(f.Data, frame)):
					t.Errorf("%+v: frame of %d differs or is lost", c, l)
				case !fits && f != nil:
					t.Errorf("%+v: frame of %d came through as %d", c, l, len(f.Data))
				}
			}
		}
	})
}

// A frame longer than the buffers of a guest that does not merge them is dropped
// whole (B42), and the buffer waits for one that fits.
func TestNoMergeTooLong(t *testing.T) {
	eachKind(t, func(t *testing.T, kind uint64) {
		n := newNIC(t, 16, virtio.FVersion1|kind, 1526, []int{12})
		if f := n.back(t, randomFrame(1515), virtiotest.Shape{}); f != nil {
			t.Fatalf("frame of 1515 came through as %d", len(f.Data))
		}
		if got := n.ts.Drops[packet.TxTooLong].Load(); got != 1 {
			t.Errorf("counted %d times", got)
		}
		want := randomFrame(1514)
		if f := n.back(t, want, virtiotest.Shape{}); f == nil || !bytes.Equal(f.Data, want) || f.Hdr.NumBuffers != 1 {
			t.Error("the next frame differs or is lost")
		}
	})
}

// More tail segments than a packet has room for: copied into one.
func TestManySegments(t *testing.T) {
	eachKind(t, func(t *testing.T, kind uint64) {
		n := newNIC(t, 256, modern|kind, 4096, nil)
		frame := randomFrame(3000)
		var cuts []int
		for at := 40; at < 3000; at += 40 {
			cuts = append(cuts, at)
		}
		if f := n.back(t, frame, virtiotest.Shape{Cuts: cuts}); f == nil || !bytes.Equal(f.Data, frame) {
			t.Error("frame differs or is lost")
		}
	})
}

// With lending off, a guest that rewrites its buffer before the burst is over changes nothing.
func TestCopyIsPrivate(t *testing.T) {
	eachKind(t, func(t *testing.T, kind uint64) {
		for _, lend := range []bool{true, false} {
			n := newNIC(t, 16, modern|kind, 4096, nil)
			n.rx.lend.Store(lend)
			frame := randomFrame(2000)
			n.Send(virtiotest.Hdr{}, frame, virtiotest.Shape{Cuts: []int{12, 700}})
			if n.rx.Recv(n.b, &n.rs) != 1 {
				t.Fatal("not received")
			}
			got := n.b.Pkts[0].AppendTo(nil)
			for i := range n.TX.Mem {
				b := n.TX.Mem[i].B
				if at := bytes.Index(b, frame[700:800]); at >= 0 {
					clear(b[at : at+100])
				}
			}
			after := n.b.Pkts[0].AppendTo(nil)
			if !bytes.Equal(got, frame) {
				t.Fatal("frame differs")
			}
			if same := bytes.Equal(after, frame); same == lend {
				t.Errorf("lend %v: unchanged %v", lend, same)
			}
			n.rx.Release()
		}
	})
}

// Faulty receive buffers are given back empty and the frame goes to the next;
// one that is faulty in the middle of a merge costs the frame, not the ring.
func TestFaultyReceiveBuffers(t *testing.T) {
	eachKind(t, func(t *testing.T, kind uint64) {
		n := newNIC(t, 16, modern|kind, 100, nil)
		n.restart(t, n.RX.Start(), n.TX.Start())
		buf := func(addr uint64, w bool) { n.RX.Add(virtiotest.Elem{Addr: addr, Len: 100, Write: w}) }
		good := uint64(memBase + memSize - 4096)
		buf(good, false)      // wrong direction
		buf(0xffffffff, true) // nowhere
		buf(good, true)
		buf(good+100, true)
		buf(0xffffffff, true)
		buf(good+200, true)
		n.RX.Publish()
		send := func(l int) {
			n.Send(virtiotest.Hdr{}, randomFrame(l), virtiotest.Shape{})
			n.loop()
		}
		send(60)  // past two faulty ones
		send(150) // merges into a faulty one
		send(61)
		want := []uint32{0, 0, 72, 0, 0, 73}
		for i, w := range want {
			if _, l, ok := n.RX.Take(); !ok || l != w {
				t.Errorf("used entry %d: length %d, %v, want %d", i, l, ok, w)
			}
		}
		if n.RX.Pending() != 0 {
			t.Error("more used entries")
		}
		if n.ts.Packets.Load() != 2 || n.ts.Drops[packet.TxBadAddress].Load() != 1 {
			t.Errorf("sent %d, bad address %d", n.ts.Packets.Load(), n.ts.Drops[packet.TxBadAddress].Load())
		}
	})
}

// A full ring costs a bounded number of looks and counts each frame once.
func TestRingFull(t *testing.T) {
	eachKind(t, func(t *testing.T, kind uint64) {
		n := newNIC(t, 16, modern|kind, 2048, nil)
		sent := 0
		for range 3 {
			for range 10 {
				if n.Queue(virtiotest.Hdr{}, randomFrame(60), virtiotest.Shape{}) {
					sent++
				}
			}
			n.TX.Publish()
			n.loop()
		}
		got, full := n.ts.Packets.Load(), n.ts.Drops[packet.TxRingFull].Load()
		if got != 16 || int(got+full) != sent {
			t.Errorf("of %d: %d sent, %d ring full", sent, got, full)
		}
	})
}

// Random frames in random shapes, in bursts, come back in order, each once.
func TestTraffic(t *testing.T) {
	eachKind(t, func(t *testing.T, kind uint64) {
		for _, features := range []uint64{modern, virtio.FVersion1 | virtio.FIndirectDesc, virtio.NetFMrgRxbuf} {
			t.Run(fmt.Sprintf("%#x", features), func(t *testing.T) {
				n := newNIC(t, 128, features|kind, 1600, nil)
				var queue [][]byte
				for range many(600, 10_000) {
					for range rand.IntN(20) {
						f := randomFrame(14 + rand.IntN(1500))
						var cuts []int
						for at := 1 + rand.IntN(700); at < len(f) && rand.IntN(3) > 0; at += 1 + rand.IntN(700) {
							cuts = append(cuts, at)
						}
						if n.Queue(virtiotest.Hdr{}, f, virtiotest.Shape{Cuts: cuts, Indirect: rand.IntN(2) == 0 && features&virtio.FIndirectDesc != 0}) {
							queue = append(queue, f)
						}
					}
					n.TX.Publish()
					n.loop()
					for {
						f, err := n.Recv()
						if err != nil {
							t.Fatal(err)
						}
						if f == nil {
							break
						}
						if !bytes.Equal(f.Data, queue[0]) {
							t.Fatal("frame differs or is out of order")
						}
						queue = queue[1:]
					}
					n.Fill()
				}
			})
		}
	})
}

func TestQueuesDoNotAllocate(t *testing.T) {
	eachKind(t, func(t *testing.T, kind uint64) {
		n := newNIC(t, 256, modern|kind, 2048, nil)
		frame := randomFrame(1514)
		list := make([]uint16, packet.MaxBurst)
		for i := range list {
			list[i] = uint16(i)
		}
		for range 10 {
			for range packet.MaxBurst {
				n.Queue(virtiotest.Hdr{}, frame, virtiotest.Shape{})
			}
			n.TX.Publish()
			if a := testing.AllocsPerRun(1, func() {
				if got := n.rx.Recv(n.b, &n.rs); got > 0 {
					n.tx.Send(n.b, list[:got], &n.ts)
					n.rx.Release()
				}
			}); a != 0 {
				t.Fatalf("%v allocations", a)
			}
			for {
				if f, _ := n.Recv(); f == nil {
					break
				}
			}
			n.Fill()
		}
	})
}
