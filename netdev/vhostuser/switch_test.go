package vhostuser

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// testSwitch is the least switch that keeps the contract: one poll thread, which sends what
// port 2n receives to port 2n+1 and back. It sleeps when there is nothing to do.
type testSwitch struct {
	mu    sync.Mutex
	ports []*testPort // nil: removed
	snap  atomic.Pointer[[]polled]
	loops atomic.Uint64
	stop  atomic.Bool
	done  chan struct{}
	burst packet.Burst
}

// testPort is a port and its counters.
type testPort struct {
	dev      netdev.Device
	rx       netdev.RxStats
	tx       netdev.TxStats
	injected [][]byte
}

// polled is a port in the poll thread's snapshot.
type polled struct {
	port *testPort
	rx   []netdev.RxQueue
	out  netdev.TxQueue // of the port's partner
	to   *testPort
}

func newSwitch(t *testing.T) *testSwitch {
	s := &testSwitch{done: make(chan struct{})}
	s.snap.Store(&[]polled{})
	go s.poll()
	t.Cleanup(func() {
		s.mu.Lock()
		ports := slices.Clone(s.ports)
		s.mu.Unlock()
		for _, p := range ports {
			if p != nil {
				s.remove(t, p)
			}
		}
		s.stop.Store(true)
		<-s.done
	})
	return s
}

// add opens a port.
func (s *testSwitch) add(t *testing.T, open netdev.OpenFunc, name string, o netdev.Options) *testPort {
	t.Helper()
	dev, err := open(name, o, s)
	if err != nil {
		t.Fatal(err)
	}
	p := &testPort{dev: dev}
	s.mu.Lock()
	s.ports = append(s.ports, p)
	s.publish()
	s.mu.Unlock()
	return p
}

// remove closes a port, which must take less than a second.
func (s *testSwitch) remove(t *testing.T, p *testPort) {
	t.Helper()
	s.mu.Lock()
	i := slices.Index(s.ports, p)
	s.ports[i] = nil
	s.publish()
	s.mu.Unlock()
	start := time.Now()
	if err := p.dev.Close(); err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > limit(time.Second) {
		t.Errorf("Close took %v", d)
	}
}

// limit is a stated time with room for a loaded machine.
func limit(d time.Duration) time.Duration { return 30 * d }

// Changed implements netdev.Host.
func (s *testSwitch) Changed(d netdev.Device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.ports, func(p *testPort) bool { return p != nil && p.dev == d }) {
		s.publish()
	}
}

// Inject implements netdev.Host.
func (s *testSwitch) Inject(d netdev.Device, frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.ports {
		if p != nil && p.dev == d {
			p.injected = append(p.injected, bytes.Clone(frame))
		}
	}
}

// publish makes a new snapshot and waits until the thread uses it.
func (s *testSwitch) publish() {
	var snap []polled
	for i, p := range s.ports {
		if p == nil {
			continue
		}
		e := polled{port: p}
		e.rx, _ = p.dev.Queues()
		if j := i ^ 1; j < len(s.ports) && s.ports[j] != nil {
			e.to = s.ports[j]
			if _, tx := e.to.dev.Queues(); len(tx) > 0 {
				e.out = tx[0]
			}
		}
		snap = append(snap, e)
	}
	s.snap.Store(&snap)
	for n := s.loops.Load(); s.loops.Load() < n+2; {
		time.Sleep(10 * time.Microsecond)
	}
}

func (s *testSwitch) poll() {
	defer close(s.done)
	runtime.LockOSThread()
	debug.SetPanicOnFault(true)
	idle := 0
	for !s.stop.Load() {
		s.loops.Add(1)
		n := 0
		snap := *s.snap.Load()
		for i := range snap {
			for _, q := range snap[i].rx {
				n += s.turn(&snap[i], q)
			}
		}
		if n > 0 {
			idle = 0
		} else if idle++; idle > 50 {
			s.sleep(snap)
		}
	}
}

// turn is one burst of one queue.
func (s *testSwitch) turn(e *polled, q netdev.RxQueue) (n int) {
	defer s.blame()
	n = q.Recv(&s.burst, &e.port.rx)
	if n == 0 {
		return 0
	}
	var list [packet.MaxBurst]uint16
	for i := range n {
		list[i] = uint16(i)
	}
	if e.out != nil {
		e.out.Send(&s.burst, list[:n], &e.to.tx)
	} else if e.to != nil {
		e.to.tx.Drops[packet.TxNotReady].Add(uint64(n))
	}
	q.Release()
	return n
}

// blame asks whose memory vanished.
func (s *testSwitch) blame() {
	r := recover()
	if r == nil {
		return
	}
	f, ok := r.(interface{ Addr() uintptr })
	if !ok {
		panic(r)
	}
	for _, e := range *s.snap.Load() {
		if d := e.port.dev.(netdev.Faulter); d.OwnsAddr(f.Addr()) {
			go d.Fault("memory vanished under the poll thread")
			return
		}
	}
	panic(r)
}

// sleep waits for a kick as a sleeping poll thread does, but not for ever: Changed is
// not told here otherwise.
func (s *testSwitch) sleep(snap []polled) {
	defer s.blame()
	var fds []unix.PollFd
	var armed []netdev.RxQueue
	ready := false
	for _, e := range snap {
		for _, q := range e.rx {
			if q.FD() < 0 {
				ready = true
				continue
			}
			armed = append(armed, q)
			ready = !q.Arm() || ready
			fds = append(fds, unix.PollFd{Fd: int32(q.FD()), Events: unix.POLLIN})
		}
	}
	if ready {
		runtime.Gosched()
	} else {
		_, _ = unix.Poll(fds, 2)
	}
	for _, q := range armed {
		q.Disarm()
	}
}

// frame makes a frame that says its number.
func frame(n, size int) []byte {
	f := bytes.Repeat([]byte{byte(n)}, size)
	copy(f, "\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x88\xb5")
	copy(f[14:], fmt.Sprintf("%08d", n))
	return f
}

// sameFrame checks what arrived.
func sameFrame(t *testing.T, q *frontend.Queue, want []byte) {
	t.Helper()
	f, err := q.Recv(limit(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(f.Data, want) {
		t.Fatalf("frame of %d bytes %.30q, want %d bytes %.30q", len(f.Data), f.Data, len(want), want)
	}
}

// pass sends frames both ways between two guests.
func pass(t *testing.T, a, b *frontend.Guest) {
	t.Helper()
	for i := range 40 {
		for _, q := range []struct{ from, to *frontend.Queue }{{a.Queues[0], b.Queues[0]}, {b.Queues[0], a.Queues[0]}} {
			want := frame(i, 60+37*i)
			if !q.from.Send(want) {
				t.Fatal("transmit ring is full")
			}
			sameFrame(t, q.to, want)
		}
	}
}

// attach connects a guest to a server port.
func attach(t *testing.T, path string, cfg frontend.Config) *frontend.Guest {
	t.Helper()
	g, err := tryAttach(path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func tryAttach(path string, cfg frontend.Config) (*frontend.Guest, error) {
	c, err := frontend.Dial(path)
	if err != nil {
		return nil, err
	}
	return frontend.NewGuest(c, cfg)
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit(time.Second)); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("not so in time: %s", what)
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// usage is what a process must not have more of after a test than before.
type usage struct{ fds, goroutines, mappings int }

func measure(t *testing.T) usage {
	t.Helper()
	e, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return usage{len(e), runtime.NumGoroutine(), strings.Count(string(maps), "memfd:guest")}
}

// lab is a switch with a pair of innocent guests, and two ports that a test may do anything
// to.
type lab struct {
	*testSwitch
	t      *testing.T
	dir    string
	in     [2]*frontend.Guest
	ports  [2]*testPort
	paths  [2]string
	before usage
}

// newLab sets up and takes the measure.
func newLab(t *testing.T, options map[string]string) *lab {
	t.Helper()
	l := &lab{testSwitch: newSwitch(t), t: t, dir: t.TempDir()}
	o := netdev.Options{RunDir: l.dir}
	for i := range l.in {
		name := fmt.Sprintf("innocent%d", i)
		l.add(t, OpenServer, name, o)
		l.in[i] = attach(t, filepath.Join(l.dir, name), frontend.Config{})
	}
	o.Map = options
	for i := range l.ports {
		name := fmt.Sprintf("p%d", i)
		l.ports[i], l.paths[i] = l.add(t, OpenServer, name, o), filepath.Join(l.dir, name)
	}
	pass(t, l.in[0], l.in[1])
	l.mark()
	return l
}

// mark takes the measure anew: what the test itself has now is not the switch's.
func (l *lab) mark() { l.before = measure(l.t) }

// alive checks that the switch is none the worse for what happened: innocent
// ports forward, nothing is left of guests that have gone, and the ports take
// new guests.
func (l *lab) alive() {
	l.t.Helper()
	pass(l.t, l.in[0], l.in[1])
	for _, p := range l.ports {
		eventually(l.t, "guest is gone", func() bool { return p.dev.Info().Status["status"] == "disconnected" })
	}
	var now usage
	for end := time.Now().Add(limit(time.Second)); ; time.Sleep(time.Millisecond) {
		now = measure(l.t)
		if now.fds <= l.before.fds && now.goroutines <= l.before.goroutines && now.mappings <= l.before.mappings {
			break
		}
		if time.Now().After(end) {
			l.t.Fatalf("left behind: %+v, before %+v", now, l.before)
		}
	}
	a := attach(l.t, l.paths[0], frontend.Config{})
	b := attach(l.t, l.paths[1], frontend.Config{})
	pass(l.t, a, b)
	a.Close()
	b.Close()
}
