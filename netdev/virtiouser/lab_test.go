package virtiouser

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
	"github.com/gvswitch/gvswitch/netdev/vhostuser"
	"github.com/gvswitch/gvswitch/packet"
)

func TestMain(m *testing.M) {
	if !slices.Contains(os.Args, "-test.v=true") {
		slog.SetDefault(slog.New(slog.DiscardHandler))
	}
	os.Exit(m.Run())
}

// side is the least datapath that keeps the contract: whoever polls holds the lock, so Changed
// returns when nobody uses what was before.
type side struct {
	mu    sync.Mutex
	burst packet.Burst
	rx    netdev.RxStats
	tx    netdev.TxStats
}

// Changed implements netdev.Host.
func (s *side) Changed(netdev.Device) {
	s.mu.Lock()
	defer s.mu.Unlock()
}

// Inject implements netdev.Host.
func (s *side) Inject(netdev.Device, []byte) {}

// move sends what queue i of one device received to the same of another.
func (s *side) move(from, to *netdev.Device, list []uint16) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rx, _ := (*from).Queues()
	_, tx := (*to).Queues()
	for i, q := range rx {
		if k := q.Recv(&s.burst, &s.rx); k > 0 {
			n += k
			if len(tx) > 0 {
				tx[i%len(tx)].Send(&s.burst, list[:k], &s.tx)
			}
			q.Release()
		}
	}
	return n
}

func identity() []uint16 {
	list := make([]uint16, packet.MaxBurst)
	for i := range list {
		list[i] = uint16(i)
	}
	return list
}

// lab is two virtio-user ports whose back ends forward to each other.
type lab struct {
	back   side
	front  side
	ports  [2]netdev.Device // virtio-user
	backs  [2]netdev.Device // dpdkvhostuser
	paths  [2]string
	window int // frames on their way at most
}

// newLab attaches ports with the given options to back ends with theirs. The back ends connect
// if the ports are servers.
func newLab(t testing.TB, options, backOptions map[string]string) *lab {
	t.Helper()
	l := &lab{window: 150}
	if n, err := strconv.Atoi(options["queue_size"]); err == nil {
		l.window = min(l.window, n/2)
	}
	dir := t.TempDir()
	server := options["server"] == "true"
	for i := range l.ports {
		l.paths[i] = filepath.Join(dir, fmt.Sprintf("s%d", i))
		o, b := map[string]string{"path": l.paths[i]}, map[string]string{"vhost-server-path": l.paths[i]}
		for k, v := range options {
			o[k] = v
		}
		for k, v := range backOptions {
			b[k] = v
		}
		open := vhostuser.OpenServer
		if server {
			open = vhostuser.OpenClient
		}
		l.ports[i] = netdevtest.Open(t, Open, fmt.Sprintf("vu%d", i), netdev.Options{Map: o}, &l.front)
		var err error
		if l.backs[i], err = open(fmt.Sprintf("b%d", i), netdev.Options{Map: b}, &l.back); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := l.backs[i].Close(); err != nil {
				t.Error(err)
			}
		})
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		list := identity()
		for {
			select {
			case <-quit:
				return
			default:
				if l.back.move(&l.backs[0], &l.backs[1], list)+l.back.move(&l.backs[1], &l.backs[0], list) == 0 {
					runtime.Gosched()
				}
			}
		}
	}()
	t.Cleanup(func() { close(quit); <-done })
	l.up(t)
	return l
}

func (l *lab) up(t testing.TB) {
	t.Helper()
	netdevtest.Eventually(t, 10*time.Second, "link of both ports", func() bool {
		for _, d := range []netdev.Device{l.ports[0], l.ports[1], l.backs[0], l.backs[1]} {
			if !d.Info().Link {
				return false
			}
		}
		return true
	})
}

// send hands frames to a port, as many as go.
func (l *lab) send(from, queue int, frames [][]byte) (n int) {
	l.front.mu.Lock()
	defer l.front.mu.Unlock()
	_, tx := l.ports[from].Queues()
	if queue >= len(tx) {
		return 0
	}
	list := identity()
	for i, f := range frames {
		l.front.burst.Pkts[i].SetBytes(f)
	}
	l.front.burst.Start(len(frames))
	before := l.front.tx.Packets.Load()
	tx[queue].Send(&l.front.burst, list[:len(frames)], &l.front.tx)
	return int(l.front.tx.Packets.Load() - before)
}

// receive takes one burst of a port.
func (l *lab) receive(at, queue int) (frames [][]byte) {
	l.front.mu.Lock()
	defer l.front.mu.Unlock()
	rx, _ := l.ports[at].Queues()
	if queue >= len(rx) {
		return nil
	}
	n := rx[queue].Recv(&l.front.burst, &l.front.rx)
	for i := range n {
		frames = append(frames, l.front.burst.Pkts[i].AppendTo(nil))
	}
	if n > 0 {
		rx[queue].Release()
	}
	return frames
}

// pass sends frames of all sizes up to longest from one port to the other, and they all arrive
// as they were and in order.
func (l *lab) pass(t *testing.T, from, queue, count, longest int) {
	t.Helper()
	next, sent, got := 0, 0, 0
	frame := func(i int) []byte { return netdevtest.Frame(60+i*37%(longest-59), byte(i)) }
	var burst [][]byte
	for deadline := time.Now().Add(20 * time.Second); got < count; {
		for len(burst) < packet.MaxBurst && next < count {
			burst = append(burst, frame(next))
			next++
		}
		if k := min(len(burst), l.window-(sent-got)); k > 0 { // what the back end cannot take, it drops
			n := l.send(from, queue, burst[:k])
			burst, sent = burst[n:], sent+n
		}
		for _, f := range l.receive(1-from, queue) {
			if want := frame(got); !bytes.Equal(f, want) {
				t.Fatalf("frame %d: %d bytes %.20x, want %d %.20x", got, len(f), f, len(want), want)
			}
			got++
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d frames arrived; drops at the back end %d, %d; %v", got, count,
				netdevtest.Drops(&l.back.tx.Drops), netdevtest.Drops(&l.back.rx.Drops), l.ports[0].Info())
		}
	}
}
