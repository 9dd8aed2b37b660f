package e2e

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/test/guest"
	"github.com/gvswitch/gvswitch/test/peers"
)

// in runs f in a network namespace. The sockets that f makes stay there.
func in(n *peers.Netns, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		done <- func() error {
			ns, err := os.Open("/run/netns/" + n.Name)
			if err != nil {
				return err
			}
			defer ns.Close()
			if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
			return f()
		}()
	}()
	return <-done
}

// gap is the longest time between two signs of life.
type gap struct {
	mu   sync.Mutex
	last time.Time
	max  time.Duration
}

func (g *gap) sign() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.max = max(g.max, now.Sub(g.last))
	g.last = now
}

func (g *gap) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last, g.max = time.Now(), 0
}

// longest includes the time since the last sign.
func (g *gap) longest() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(g.max, time.Since(g.last))
}

// endTime is how long what is on its way when traffic ends may still take.
const endTime = 30 * time.Second

// echo is a TCP connection on which each byte comes back.
type echo struct {
	t       *testing.T
	conn    *net.TCPConn
	gap     gap
	done    atomic.Uint64 // bytes that came back right
	sent    uint64
	stop    atomic.Bool
	workers sync.WaitGroup
	failed  error
}

// pattern is the sequence of bytes that is sent, different at every place.
func pattern() *rand.ChaCha8 { return rand.NewChaCha8([32]byte{1}) }

// dialEcho connects from a namespace to a guest that sends back what it gets. It sends as
// much as goes, and takes some 4 MB a second back: so there is always much that the guest has
// received and not read yet, and only the switch has written to the memory that it lies in.
func dialEcho(t *testing.T, g *guest.Guest, from *peers.Netns, addr string) *echo {
	t.Helper()
	const port = "7000"
	if _, err := g.Background(context.Background(), "nc -l -p "+port+" -e cat"); err != nil {
		t.Fatal(err)
	}
	e := &echo{t: t}
	eventually(t, pingTime, "connection to the guest", func() error {
		return in(from, func() error {
			c, err := net.Dial("tcp", net.JoinHostPort(addr, port))
			if err == nil {
				e.conn = c.(*net.TCPConn)
			}
			return err
		})
	})
	e.gap.reset()
	e.workers.Go(func() {
		b, p := make([]byte, 4096), pattern()
		for !e.stop.Load() {
			_, _ = p.Read(b)
			n, err := e.conn.Write(b)
			e.sent += uint64(n)
			if err != nil {
				return // the other side will see it
			}
		}
		_ = e.conn.CloseWrite()
	})
	e.workers.Go(func() { e.failed = e.check() })
	return e
}

func (e *echo) check() error {
	b, want, p := make([]byte, 16384), make([]byte, 16384), pattern()
	for {
		n, err := e.conn.Read(b)
		if n > 0 {
			e.gap.sign()
			_, _ = p.Read(want[:n])
			for i := range n {
				if b[i] != want[i] {
					return fmt.Errorf("byte %d is %#x, want %#x", e.done.Load()+uint64(i), b[i], want[i])
				}
			}
			e.done.Add(uint64(n))
			if !e.stop.Load() {
				time.Sleep(4 * time.Millisecond)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// end ends the connection when all that was sent is back, and says how many bytes were wrong
// or did not come.
func (e *echo) end() uint64 {
	e.t.Helper()
	e.stop.Store(true)
	_ = e.conn.SetReadDeadline(time.Now().Add(endTime))
	e.workers.Wait()
	_ = e.conn.Close()
	if e.failed != nil || e.done.Load() != e.sent {
		e.t.Errorf("to the guest and back: %d bytes of %d: %v", e.done.Load(), e.sent, e.failed)
	}
	return e.sent - e.done.Load()
}

// letter sends a guest bytes that it is not to read before it has migrated. All that time they lie where the
// switch put them, and nothing but its log of dirty pages takes them along: it is buffers from long
// before that it puts them into, and the guest does not touch them.
type letter struct {
	t       *testing.T
	conn    *net.TCPConn
	sent    []byte
	stop    atomic.Bool
	workers sync.WaitGroup
}

// A letter has as many pieces as a receive buffer that nobody reads from takes, over the
// time that a migration lasts.
const (
	letterPiece  = 8192
	letterPieces = 12
	letterEvery  = 120 * time.Millisecond
)

func (m *mover) write(addr string) *letter {
	m.t.Helper()
	const port, opened = "7002", "/tmp/opened"
	command := "rm -f " + opened + "; nc -l -p " + port + " -e sh -c 'while [ ! -e " + opened + " ]; do sleep 0.1; done; cat'"
	if _, err := m.guest.Background(context.Background(), "sh -c "+strconv.Quote(command)); err != nil {
		m.t.Fatal(err)
	}
	l := &letter{t: m.t}
	eventually(m.t, pingTime, "connection to the guest", func() error {
		return in(m.from, func() error {
			c, err := net.Dial("tcp", net.JoinHostPort(addr, port))
			if err == nil {
				l.conn = c.(*net.TCPConn)
			}
			return err
		})
	})
	p := pattern()
	l.workers.Go(func() {
		for i := 0; i < letterPieces && !l.stop.Load(); i++ {
			b := make([]byte, letterPiece)
			_, _ = p.Read(b)
			if _, err := l.conn.Write(b); err != nil {
				return
			}
			l.sent = append(l.sent, b...)
			time.Sleep(letterEvery)
		}
	})
	return l
}

// read has the guest read the letter, now that it has migrated, and compares.
func (l *letter) read(g *guest.Guest) {
	l.t.Helper()
	l.stop.Store(true)
	l.workers.Wait()
	_ = l.conn.CloseWrite()
	if _, err := g.Run(context.Background(), "touch /tmp/opened"); err != nil {
		l.t.Fatal(err)
	}
	_ = l.conn.SetReadDeadline(time.Now().Add(endTime))
	got, err := io.ReadAll(l.conn)
	_ = l.conn.Close()
	wrong := 0
	for i := range min(len(got), len(l.sent)) {
		if got[i] != l.sent[i] {
			wrong++
		}
	}
	if err != nil || wrong > 0 || len(got) != len(l.sent) {
		l.t.Errorf("of %d bytes that were not read before the migration %d came back, %d of them wrong: %v", len(l.sent), len(got), wrong, err)
	}
}

// count is a TCP connection on which a guest sends the numbers from 1, a line each.
type count struct {
	t      *testing.T
	conn   net.Conn
	done   atomic.Uint64 // bytes that were right
	stop   atomic.Bool
	ended  chan struct{}
	failed error
}

func listenCount(t *testing.T, g *guest.Guest, at *peers.Netns, addr string) *count {
	t.Helper()
	var l net.Listener
	if err := in(at, func() (err error) { l, err = net.Listen("tcp", net.JoinHostPort(addr, "7001")); return err }); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(pingTime))
	stop, err := g.Background(context.Background(), fmt.Sprintf("sh -c 'seq 1 1000000000 | nc %s 7001'", addr))
	if err != nil {
		t.Fatal(err)
	}
	c := &count{t: t, ended: make(chan struct{})}
	if c.conn, err = l.Accept(); err != nil {
		stop()
		t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		c.failed = c.check()
	}()
	return c
}

// check takes some 4 MB a second.
func (c *count) check() error {
	r := bufio.NewReaderSize(c.conn, 65536)
	var want []byte
	for n, taken := uint64(1), 0; ; n++ {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if want = append(strconv.AppendUint(want[:0], n, 10), '\n'); string(line) != string(want) {
			return fmt.Errorf("line %d is %q", n, line)
		}
		c.done.Add(uint64(len(line)))
		if taken += len(line); taken > 16384 {
			if c.stop.Load() {
				return nil
			}
			taken = 0
			time.Sleep(4 * time.Millisecond)
		}
	}
}

func (c *count) end() (wrong uint64) {
	c.t.Helper()
	c.stop.Store(true)
	_ = c.conn.SetReadDeadline(time.Now().Add(endTime))
	<-c.ended
	_ = c.conn.Close()
	if c.failed != nil {
		c.t.Errorf("from the guest, after %d bytes: %v", c.done.Load(), c.failed)
		return 1
	}
	return 0
}

// echoes are echo requests (RFC 792), two hundred a second.
type echoes struct {
	conn    *net.IPConn
	gap     gap
	stop    atomic.Bool
	workers sync.WaitGroup
}

const echoesEvery = 5 * time.Millisecond

func startEchoes(t *testing.T, from *peers.Netns, addr string) *echoes {
	t.Helper()
	e := &echoes{}
	if err := in(from, func() (err error) {
		e.conn, err = net.DialIP("ip4:icmp", nil, &net.IPAddr{IP: net.ParseIP(addr)})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	id := uint16(os.Getpid())
	e.gap.reset()
	e.workers.Go(func() {
		for seq := uint16(0); !e.stop.Load(); seq++ {
			b := []byte{8, 0, 0, 0, byte(id >> 8), byte(id), byte(seq >> 8), byte(seq)} // 8 asks
			sum := 8<<8 + uint32(id) + uint32(seq)
			binary.BigEndian.PutUint16(b[2:], ^uint16(sum+sum>>16))
			_, _ = e.conn.Write(b) // while nobody answers ARP it fails
			time.Sleep(echoesEvery)
		}
		_ = e.conn.Close()
	})
	e.workers.Go(func() {
		b := make([]byte, 256)
		for {
			n, _, err := e.conn.ReadFromIP(b)
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err == nil && n >= 8 && b[0] == 0 && binary.BigEndian.Uint16(b[4:]) == id:
				e.gap.sign()
			}
		}
	})
	return e
}

func (e *echoes) end() {
	e.stop.Store(true)
	e.workers.Wait()
}
