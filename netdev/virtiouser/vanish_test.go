package virtiouser

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio/driver"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/netdevtest"
	provider "github.com/gvswitch/gvswitch/netdev/vhostuser"
	"github.com/gvswitch/gvswitch/packet"
)

// The back end goes, at any moment, and comes again: the port follows, and nothing is left behind.
func TestVanish(t *testing.T) {
	l := newLab(t, nil, nil)
	l.pass(t, 0, 0, 100, 1514)
	for i := range 4 {
		reborn := make([]netdev.Device, 2)
		for k, d := range l.backs {
			l.back.mu.Lock() // nobody polls it any more
			l.backs[k] = nowhere{}
			l.back.mu.Unlock()
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for _, d := range l.ports {
			netdevtest.Eventually(t, 10*time.Second, "no link", func() bool {
				rx, tx := d.Queues()
				return !d.Info().Link && len(rx)+len(tx) == 0 && d.Info().Status["status"] == "disconnected"
			})
		}
		for k := range l.backs {
			var err error
			reborn[k], err = provider.OpenServer(fmt.Sprintf("again%d", k), netdev.Options{Map: map[string]string{"vhost-server-path": l.paths[k]}}, &l.back)
			if err != nil {
				t.Fatal(err)
			}
		}
		l.back.mu.Lock()
		copy(l.backs[:], reborn)
		l.back.mu.Unlock()
		l.up(t)
		l.pass(t, i%2, 0, 100, 1514)
	}
}

// nowhere is a device without queues.
type nowhere struct{}

func (nowhere) Info() netdev.Info                            { return netdev.Info{} }
func (nowhere) Queues() ([]netdev.RxQueue, []netdev.TxQueue) { return nil, nil }
func (nowhere) Close() error                                 { return nil }

func TestNoLeaks(t *testing.T) {
	l := newLab(t, nil, nil)
	n := 0
	netdevtest.NoLeaks(t, func() {
		n++
		path := fmt.Sprintf("%s-%d", l.paths[0], n)
		host := &side{}
		b, err := provider.OpenServer("b", netdev.Options{Map: map[string]string{"vhost-server-path": path}}, host)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Open("p", netdev.Options{Map: map[string]string{"path": path, "queues": "1"}}, host)
		if err != nil {
			t.Fatal(err)
		}
		netdevtest.Eventually(t, 10*time.Second, "link", func() bool { return p.Info().Link })
		for _, d := range []netdev.Device{p, b} {
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A back end that breaks the rules loses its connection, and the port says why; then it
// gets another chance.
func TestBrokenRing(t *testing.T) {
	for _, o := range []map[string]string{{"packed": "false"}, {"packed": "true"}, {"in_order": "false", "mrg_rxbuf": "false"}} {
		t.Run(fmt.Sprint(o), func(t *testing.T) {
			l := newLab(t, o, nil)
			d := l.ports[0].(*Device)
			d.mu.Lock()
			s := d.session
			d.mu.Unlock()
			l.front.mu.Lock()
			l.back.mu.Lock()
			c := s.plan.config(s.memory, &s.plan.rx, 0)
			if o["packed"] == "true" { // buffer 77 of 256, used again and again
				for i := range 3 {
					mem.Store32Release(c.Desc+16*uintptr(i)+12, 77|0x8080<<16)
				}
			} else {
				mem.Store16Release(c.Used+2, 4711)
			}
			l.back.mu.Unlock()
			rx, _ := l.ports[0].Queues()
			n := rx[0].Recv(&l.front.burst, &l.front.rx)
			l.front.mu.Unlock()
			if n != 0 {
				t.Errorf("%d frames of nothing", n)
			}
			if s.pairs[0].broken() == driver.OK {
				t.Error("the ring is whole")
			}
			netdevtest.Eventually(t, 10*time.Second, "another session", func() bool {
				d.mu.Lock()
				defer d.mu.Unlock()
				return d.session != nil && d.session != s
			})
			l.up(t)
			l.pass(t, 1, 0, 100, 1514)
		})
	}
}

// A number of buffers that no frame takes breaks the ring.
func TestBadMerge(t *testing.T) {
	for _, merged := range []uint16{0, 65, 0xffff} {
		l := newLab(t, nil, nil)
		d := l.ports[0].(*Device)
		s := d.session
		l.front.mu.Lock()
		c := s.plan.config(s.memory, &s.plan.rx, 0)
		l.back.mu.Lock()
		mem.Store16(c.Buffers+headSpace-2, merged)
		mem.Store64(c.Used+4, 100<<32)
		mem.Store16Release(c.Used+2, 1)
		l.back.mu.Unlock()
		rx, _ := l.ports[0].Queues()
		if n := rx[0].Recv(&l.front.burst, &l.front.rx); n != 0 {
			t.Errorf("%d buffers: %d frames", merged, n)
		}
		if f := s.pairs[0].broken(); f != driver.BadMerge {
			t.Errorf("%d buffers: %v", merged, f)
		}
		l.front.mu.Unlock()
	}
}

// A frame whose buffers have not all been used yet waits, and nothing behind it is lost.
func TestStraddle(t *testing.T) {
	l := newLab(t, map[string]string{"in_order": "false"}, nil)
	d := l.ports[0].(*Device)
	s := d.session
	l.front.mu.Lock()
	defer l.front.mu.Unlock()
	c := s.plan.config(s.memory, &s.plan.rx, 0)
	used := func(i int, id, n uint32) { mem.Store64(c.Used+4+8*uintptr(i), uint64(id)|uint64(n)<<32) }
	at := func(id int) uintptr { return c.Buffers + uintptr(id)*uintptr(c.Stride) + uintptr(c.Offset) }
	rx, _ := l.ports[0].Queues()
	mem.Store16(at(0)+10, 1)
	mem.Store16(at(1)+10, 3)
	mem.Store16(at(4)+10, 1)
	for i := range 5 {
		used(i, uint32(i), 212)
	}
	recv := func(index uint16) (lens []uint32) {
		mem.Store16Release(c.Used+2, index)
		n := rx[0].Recv(&l.front.burst, &l.front.rx)
		for i := range n {
			lens = append(lens, l.front.burst.Pkts[i].Len)
		}
		if n > 0 {
			rx[0].Release()
		}
		return lens
	}
	for _, step := range []struct {
		index uint16
		want  []uint32
	}{{2, []uint32{200}}, {3, nil}, {3, nil}, {5, []uint32{200 + 212 + 212, 200}}, {5, nil}} {
		if got := recv(step.index); fmt.Sprint(got) != fmt.Sprint(step.want) {
			t.Errorf("index %d: %v, want %v", step.index, got, step.want)
		}
	}
}

// A first buffer without even a header is no beginning of a frame, however much follows.
func TestHalfHeader(t *testing.T) {
	l := newLab(t, map[string]string{"in_order": "false"}, nil)
	s := l.ports[0].(*Device).session
	l.front.mu.Lock()
	defer l.front.mu.Unlock()
	c := s.plan.config(s.memory, &s.plan.rx, 0)
	for i, n := range []uint64{11, 500, 212} {
		mem.Store64(c.Used+4+8*uintptr(i), uint64(i)|n<<32)
		mem.Store16(c.Buffers+uintptr(i)*uintptr(c.Stride)+uintptr(c.Offset)+10, uint16(2-i/2))
	}
	mem.Store16Release(c.Used+2, 3)
	rx, _ := l.ports[0].Queues()
	if n := rx[0].Recv(&l.front.burst, &l.front.rx); n != 1 || l.front.burst.Pkts[0].Len != 200 {
		t.Errorf("%d frames, the first of %d bytes; want one of 200", n, l.front.burst.Pkts[0].Len)
	}
	rx[0].Release()
	if n := l.front.rx.Drops[packet.RxRunt].Load(); n != 1 {
		t.Errorf("%d runts, want 1", n)
	}
}

func TestAllocs(t *testing.T) {
	for name, o := range combinations() {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, o, nil)
			l.front.mu.Lock()
			defer l.front.mu.Unlock()
			rx, _ := l.ports[1].Queues()
			_, tx := l.ports[0].Queues()
			list := identity()[:8]
			for i := range list {
				l.front.burst.Pkts[i].SetBytes(netdevtest.Frame(60+1400*(i&1), 2))
			}
			got, all := 0, identity()
			n := testing.AllocsPerRun(200, func() {
				tx[0].Send(&l.front.burst, list, &l.front.tx)
				l.back.move(&l.backs[0], &l.backs[1], all) // there is one thread only
				if k := rx[0].Recv(&l.front.burst, &l.front.rx); k > 0 {
					got += k
					rx[0].Release()
				}
			})
			if n > 0 {
				t.Errorf("%v allocations", n)
			}
			if got == 0 {
				t.Error("nothing was received")
			}
		})
	}
}

// A back end that does not take what it offers is tried again and again, and complained about once.
func TestUnfit(t *testing.T) {
	var log bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(old)
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	d, err := Open("p", netdev.Options{Map: map[string]string{"path": path}}, &side{})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		c, err := ln.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		// An answer to another question than the one that was asked.
		m := vhostuser.Message{Request: vhostuser.GetQueueNum, Flags: vhostuser.Version | vhostuser.FlagReply, Payload: make([]byte, 8)}
		if _, err := c.Write(m.AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}
	netdevtest.Eventually(t, 5*time.Second, "a fault", func() bool { return d.Info().Fault != "" })
	if f := d.Info().Fault; !strings.Contains(f, "GET_FEATURES was answered by GET_QUEUE_NUM") {
		t.Errorf("fault %q", f)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "given up"); n != 1 {
		t.Errorf("%d complaints:\n%s", n, log.String())
	}
}
