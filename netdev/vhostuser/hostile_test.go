package vhostuser

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// A guest whose memory vanishes loses its port, and nobody else anything: whoever
// touches it first, the poll thread that receives or sends, or control code that obeys a
// message or new settings.
func TestMemoryVanishes(t *testing.T) {
	splitAndPacked(t, func(t *testing.T, packed bool) {
		for _, who := range []string{"receive", "send", "lender", "control", "settings"} {
			t.Run(who, func(t *testing.T) {
				l := newLab(t, nil)
				a := attach(t, l.paths[0], frontend.Config{Packed: packed})
				b := attach(t, l.paths[1], frontend.Config{Poll: who == "lender", Packed: packed})
				q := a.Queues[0]
				kickRX, callRX, kickTX, _ := q.FDs()
				switch who {
				case "receive":
					truncate(t, a)
					frontend.Signal(kickTX)
				case "send":
					truncate(t, a)
					b.Queues[0].Send(frame(1, 1000))
				case "lender":
					// A frame whose tail is gone when it is copied to the other guest: rings
					// stay, the buffers' page goes. The fault is not the receiver's.
					last := len(a.RAM.Mem) - 1
					r := a.RAM.Regions[last]
					at := r.Guest + r.Size - 4096 - 64
					a.RAM.Mem.Write(at, make([]byte, 64))
					if _, ok := q.TX.Add(elem{Addr: at, Len: 2000}); !ok {
						t.Fatal("no room")
					}
					if err := unix.Ftruncate(r.FD.Num, int64(r.Size-4096)); err != nil {
						t.Fatal(err)
					}
					q.TX.Publish()
					frontend.Signal(kickTX)
				case "control":
					for vring := range 2 {
						if _, err := a.Base(vring); err != nil {
							t.Fatal(err)
						}
					}
					truncate(t, a)
					if err := a.StartRing(0, q.RX, kickRX, callRX, 0); err == nil {
						t.Error("a ring without memory was taken")
					}
				case "settings":
					truncate(t, a)
					o := netdev.Options{RunDir: l.dir, Map: map[string]string{"tx-retries-max": "1"}}
					if err := l.ports[0].dev.(*Device).Adjust(o); err != nil {
						t.Fatal(err)
					}
				}
				info := func() netdev.Info { return l.ports[0].dev.Info() }
				eventually(t, "the port has a fault", func() bool { return strings.Contains(info().Fault, "vanished") })
				if err := a.Closed(); err != nil {
					t.Error(err)
				}
				if f := l.ports[1].dev.Info().Fault; f != "" {
					t.Errorf("the other port: %s", f)
				}
				a.Close()
				b.Close()
				l.alive()
				if i := info(); i.Fault != "" {
					t.Errorf("fault %q with a new guest", i.Fault)
				}
			})
		}
	})
}

func truncate(t *testing.T, g *frontend.Guest) {
	t.Helper()
	for _, fd := range g.RAM.FDs() {
		if err := unix.Ftruncate(fd, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// B24: a guest that works on memory other than what it gave us gets a hint.
func TestMemoryNotShared(t *testing.T) {
	splitAndPacked(t, func(t *testing.T, packed bool) {
		l := newLab(t, nil)
		c := l.dial()
		g, err := frontend.NewGuest(c, frontend.Config{Packed: packed})
		if err != nil {
			t.Fatal(err)
		}
		copied, err := frontend.NewRAM(0, len(g.RAM.Mem[0].B))
		if err != nil {
			t.Fatal(err)
		}
		if err := copied.Table(g.Conn); err != nil {
			t.Fatal(err)
		}
		if err := g.Start(g.Queues[0]); err != nil {
			t.Fatal(err)
		}
		kickRX, _, kickTX, _ := g.Queues[0].FDs()
		for i := range 10 {
			frontend.Signal(kickRX)
			frontend.Signal(kickTX)
			g.Queues[0].Send(frame(i, 100))
		}
		hint := func() string { return l.ports[0].dev.Info().Status["hint"] }
		if packed { // not by the clock: what is seen once or twice may be a guest that has just begun
			d, p := l.ports[0].dev.(*Device), peerOf(l.ports[0])
			for i := range suspicions {
				if news, last := d.notShared(p), i == suspicions-1; news != last || (hint() != "") != last {
					t.Errorf("look %d: news %v, hint %q", i, news, hint())
				}
			}
		}
		eventually(t, "a hint", func() bool { return strings.Contains(hint(), "shared") })
		copied.Close()
		g.Close()
		l.alive()
		if h := hint(); h != "" {
			t.Errorf("hint without a guest: %s", h)
		}
	})
}

// B35: the guest changes everything while it is read.
func TestDoubleFetch(t *testing.T) {
	splitAndPacked(t, func(t *testing.T, packed bool) {
		l := newLab(t, map[string]string{"vhost-offload": "true"})
		a := attach(t, l.paths[0], frontend.Config{Packed: packed})
		b := attach(t, l.paths[1], frontend.Config{Poll: true, BufSize: 2048})
		stop := make(chan struct{})
		var wg sync.WaitGroup
		flip := func(f func(r *rand.Rand)) {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(3, 4))
				for {
					select {
					case <-stop:
						return
					default:
						f(r)
					}
				}
			})
		}
		q := a.Queues[0]
		data := a.RAM.Regions[0].Guest + uint64(1<<16)
		pick := func(r *rand.Rand, v ...uint16) uint16 { return v[r.IntN(len(v))] }
		for _, ring := range []*ring2{q.TX, q.RX} {
			flip(func(r *rand.Rand) {
				i := r.IntN(ring.Size)
				if packed {
					bits := pick(r, virtiotest.AvailBit, virtiotest.UsedBit, 0)
					ring.RawPacked(i, data+uint64(r.IntN(1<<16)), uint32(pick(r, 64, 65535, 12, 0, 2000)), uint16(r.IntN(512)), bits|pick(r, 0, 1, 2, 3, 4, 5))
					return
				}
				flags := pick(r, 0, 1, 2, 3, 4, 5)
				n := uint32(pick(r, 64, 65535, 12, 0, 2000))
				ring.RawDesc(i, data+uint64(r.IntN(1<<16)), n, flags, pick(r, uint16(r.IntN(256)), 0, 0xffff))
				ring.RawAvail(i, pick(r, uint16(i), 0, 0xffff))
			})
		}
		flip(func(r *rand.Rand) { // headers
			at := data + uint64(r.IntN(1<<16))
			a.RAM.Mem.Write(at, hdr{Flags: uint8(r.IntN(3)), GSOType: uint8(r.IntN(6)), HdrLen: 54, GSOSize: pick(r, 0, 1, 1000, 0xffff), CsumStart: pick(r, 34, 0xffff), CsumOffset: pick(r, 16, 0xffff)}.Bytes(12))
		})
		start, st := time.Now(), &l.ports[0].rx
		more := func() bool {
			had := st.Packets.Load() > 0 && st.Drops[packet.RxBadChain].Load() > 0
			t := time.Since(start)
			return t < time.Duration(many(2, 30))*time.Second || !had && t < time.Minute
		}
		kickRX, _, kickTX, _ := q.FDs()
		for idx := uint16(0); more(); {
			idx += 7
			if !packed {
				q.TX.RawAvailIdx(idx)
				q.RX.RawAvailIdx(idx + 100)
			}
			frontend.Signal(kickTX)
			frontend.Signal(kickRX)
			b.Queues[0].Send(frame(int(idx), 1000))
			for range 20 {
				if f, err := b.Queues[0].Net.Recv(); err != nil {
					t.Fatalf("the other guest got nonsense: %v", err)
				} else if f != nil && len(f.Data) < packet.MinFrame {
					t.Fatalf("the other guest got a frame of %d bytes", len(f.Data))
				}
			}
			b.Queues[0].Fill()
		}
		close(stop)
		wg.Wait()
		if st.Packets.Load() == 0 || st.Drops[packet.RxBadChain].Load() == 0 {
			t.Errorf("%d packets, %d bad chains: this tests nothing", st.Packets.Load(), st.Drops[packet.RxBadChain].Load())
		}
		if f := l.ports[0].dev.Info().Fault; f != "" {
			t.Errorf("fault: %s", f)
		}
		a.Close()
		b.Close()
		l.alive()
	})
}

// B38: a bad head is returned, what comes behind it is delivered without another kick,
// and a port full of bad heads can be deleted.
func TestBadHead(t *testing.T) {
	splitAndPacked(t, func(t *testing.T, packed bool) {
		l := newLab(t, nil)
		a := attach(t, l.paths[0], frontend.Config{Clear: virtio.FInOrder, Packed: packed})
		b := attach(t, l.paths[1], frontend.Config{})
		q := a.Queues[0]
		for i := range 20 {
			bad := elem{Addr: 1 << 60, Len: 100}
			if i%2 == 1 {
				bad.Addr, bad.Write = memBase, true
			}
			head, _ := q.TX.Add(bad)
			if !q.Queue(hdr{}, frame(i, 100), shape{}) {
				t.Fatal("ring full")
			}
			q.TX.Publish()
			_, _, kick, _ := q.FDs()
			frontend.Signal(kick)
			sameFrame(t, b.Queues[0], frame(i, 100))
			eventually(t, "the bad head is returned", func() bool { return q.TX.Pending() > 0 })
			if id, n, _ := q.TX.Take(); id != head || n != 0 {
				t.Fatalf("used entry %d of length %d, want %d of 0", id, n, head)
			}
			eventually(t, "the good head is returned", func() bool { return q.InFlight() == 0 })
		}
		if n := l.ports[0].rx.Drops[packet.RxBadChain].Load() + l.ports[0].rx.Drops[packet.RxBadAddress].Load(); n != 20 {
			t.Errorf("%d bad chains counted, want 20", n)
		}
		stop, done := make(chan struct{}), make(chan struct{})
		go func() { // a flood of bad heads
			defer close(done)
			for i := uint16(0); ; i += 200 {
				select {
				case <-stop:
					return
				default:
					if packed {
						q.TX.RawPacked(int(i)%256, 0, 100, i, virtiotest.AvailFlags(i&256 == 0)|1)
					} else {
						q.TX.RawAvailIdx(i)
					}
					_, _, kick, _ := q.FDs()
					frontend.Signal(kick)
				}
			}
		}()
		time.Sleep(20 * time.Millisecond)
		l.remove(t, l.ports[0])
		close(stop)
		<-done
		a.Close()
		b.Close()
		pass(t, l.in[0], l.in[1])
	})
}

// B98: a guest that does not take what it is sent costs others nothing.
func TestStuckGuest(t *testing.T) {
	l := newLab(t, nil)
	stuck := attach(t, l.paths[0], frontend.Config{QueueSize: 32, Buffers: 32})
	b := attach(t, l.paths[1], frontend.Config{})
	sent := uint64(0)
	for i := range many(3000, 30000) {
		if b.Queues[0].Send(frame(i, 500)) {
			sent++
		}
		if i%100 == 0 {
			numbered(t, l.in[0].Queues[0], l.in[1].Queues[0], i, 1)
		}
	}
	tx := &l.ports[0].tx
	eventually(t, "all is counted", func() bool {
		return tx.Packets.Load()+tx.Drops[packet.TxRingFull].Load() == sent
	})
	if tx.Packets.Load() > 32 || tx.Retries.Load() > sent*defaultRetries {
		t.Errorf("%d packets, %d retries", tx.Packets.Load(), tx.Retries.Load())
	}
	if err := stuck.Vring(vhostuser.SetVringEnable, 0, 0); err != nil {
		t.Fatal(err)
	}
	stuck.Close()
	b.Close()
	l.alive()
}
