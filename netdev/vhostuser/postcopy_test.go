package vhostuser

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
	"github.com/gvswitch/gvswitch/netdev"
)

// arrival is the part of QEMU that brings pages: the guest's memory is what it was on the other machine, and
// no page of it is here until it is asked for.
type arrival struct {
	t    *testing.T
	uffd int
	old  [][]byte // the regions on the other machine
	fds  []int    // here
	at   []uint64 // where the pager has them

	mu      sync.Mutex
	held    bool // bring nothing
	brought atomic.Int64
	stop    chan struct{}
	wg      sync.WaitGroup
}

// leave takes all pages of a guest's memory away, to be brought again.
func (a *arrival) leave(g *frontend.Guest) {
	for i, r := range g.RAM.Regions {
		b := g.RAM.Mem[i].B
		a.old = append(a.old, append([]byte(nil), b...))
		a.fds = append(a.fds, r.FD.Num)
		if err := unix.Fallocate(r.FD.Num, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, int64(len(b))); err != nil {
			a.t.Fatal(err)
		}
	}
}

// bring puts the page of a fault where it belongs, unless it is here, and wakes who waits.
func (a *arrival) bring(addr uint64) {
	for i, at := range a.at {
		off := addr&^4095 - at
		if off >= uint64(len(a.old[i])) {
			continue
		}
		if hole, err := unix.Seek(a.fds[i], int64(off), unix.SEEK_HOLE); err == nil && uint64(hole) == off {
			if _, err := unix.Pwrite(a.fds[i], a.old[i][off:off+4096], int64(off)); err != nil {
				a.t.Error(err)
			}
			a.brought.Add(1)
		}
		wakeUserfault(a.uffd, addr&^4095)
		return
	}
	a.t.Errorf("fault at %#x, which is nowhere", addr)
}

func (a *arrival) serve() {
	var waiting []uint64
	for {
		select {
		case <-a.stop:
			return
		default:
		}
		var b [32]byte
		n, err := unix.Read(a.uffd, b[:])
		if err == nil && n == len(b) && b[0] == 0x12 {
			waiting = append(waiting, binary.LittleEndian.Uint64(b[16:]))
		}
		a.mu.Lock()
		held := a.held
		a.mu.Unlock()
		if !held {
			for _, addr := range waiting {
				a.bring(addr)
			}
			waiting = nil
		}
		if errors.Is(err, unix.EAGAIN) {
			time.Sleep(200 * time.Microsecond)
		}
	}
}

func (a *arrival) hold(on bool) {
	a.mu.Lock()
	a.held = on
	a.mu.Unlock()
}

// begin does POSTCOPY_ADVISE, LISTEN and SET_MEM_TABLE as QEMU does.
func (a *arrival) begin(g *frontend.Guest) {
	a.t.Helper()
	check := func(err error) {
		if err != nil {
			a.t.Helper()
			a.t.Fatal(err)
		}
	}
	check(g.Post(vhostuser.PostcopyAdvise, nil))
	var m vhostuser.Message
	fds, err := g.Read(&m)
	check(err)
	if len(fds) != 1 || len(m.Payload) != 0 || m.Request != vhostuser.PostcopyAdvise {
		a.t.Fatalf("%v with %d bytes and %d descriptors", m.Request, len(m.Payload), len(fds))
	}
	a.uffd = fds[0]
	a.t.Cleanup(func() { unix.Close(a.uffd) })
	check(g.Set(vhostuser.PostcopyListen, nil))
	table, err := g.Get(vhostuser.SetMemTable, vhostuser.AppendMemTable(nil, g.RAM.Regions), g.RAM.FDs()...)
	check(err)
	for i := range g.RAM.Regions {
		a.at = append(a.at, binary.LittleEndian.Uint64(table[8+32*i+16:]))
	}
	a.stop = make(chan struct{})
	a.wg.Go(a.serve)
	a.t.Cleanup(func() { close(a.stop); a.wg.Wait() })
	check(g.Post(vhostuser.SetMemTable, make([]byte, 8)))
}

// A guest arrives: first its frames wait for its memory, while everybody else goes on; then they come,
// each page is fetched once, and none is made up; at the end it is a guest like others.
func TestPostcopy(t *testing.T) {
	for _, packed := range []bool{false, true} {
		testPostcopy(t, packed)
	}
}

func testPostcopy(t *testing.T, packed bool) {
	t.Helper()
	dir := t.TempDir()
	sw := newSwitch(t)
	sw.add(t, OpenServer, "a", netdev.Options{RunDir: dir, Map: map[string]string{"vhost-postcopy-support": "true"}})
	for _, name := range []string{"b", "c", "d"} {
		sw.add(t, OpenServer, name, netdev.Options{RunDir: dir})
	}
	a := attach(t, filepath.Join(dir, "a"), frontend.Config{Packed: packed})
	b := attach(t, filepath.Join(dir, "b"), frontend.Config{})
	c := attach(t, filepath.Join(dir, "c"), frontend.Config{})
	d := attach(t, filepath.Join(dir, "d"), frontend.Config{})
	pass(t, a, b)
	// It leaves: its rings stop, its memory goes with frames in them.
	q := a.Queues[0]
	base := [2]uint32{}
	for i := range base {
		var err error
		if base[i], err = a.Base(i); err != nil {
			t.Fatal(err)
		}
	}
	var want [][]byte
	for i := range 20 {
		want = append(want, frame(i, 500+i))
		if !q.Send(want[i]) {
			t.Fatal("transmit ring is full")
		}
	}
	// The connection of the other machine is not this one: its memory is given up.
	if err := a.Conn.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "guest is gone", func() bool { return sw.ports[0].dev.Info().Status["status"] == "disconnected" })
	x := &arrival{t: t}
	x.leave(a)
	conn, err := frontend.Dial(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	a.Conn = conn
	if err := a.Negotiate(); err != nil {
		t.Fatal(err)
	}
	x.hold(true)
	x.begin(a)
	kickRX, callRX, kickTX, callTX := q.FDs()
	if err := a.StartRing(0, q.RX, kickRX, callRX, base[0]); err != nil {
		t.Fatal(err)
	}
	if err := a.StartRing(1, q.TX, kickTX, callTX, base[1]); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		pass(t, c, d)
		time.Sleep(20 * time.Millisecond)
	}
	if n := x.brought.Load(); n != 0 {
		t.Fatalf("%d pages were brought", n)
	}
	x.hold(false)
	for _, f := range want {
		sameFrame(t, b.Queues[0], f)
	}
	passIO(t, a, b)
	if n := x.brought.Load(); n < 10 {
		t.Errorf("%d pages were brought", n)
	}
	// All the rest comes by itself.
	for i, at := range x.at {
		for off := uint64(0); off < uint64(len(x.old[i])); off += 4096 {
			x.bring(at + off)
		}
	}
	if v, err := a.GetU64(vhostuser.PostcopyEnd); err != nil || v != 0 {
		t.Fatal(v, err)
	}
	pass(t, a, b)
	a.Close()
}

// The pages never come: everybody else goes on, and the port can be closed.
func TestPostcopyNever(t *testing.T) {
	dir := t.TempDir()
	sw := newSwitch(t)
	port := sw.add(t, OpenServer, "a", netdev.Options{RunDir: dir, Map: map[string]string{"vhost-postcopy-support": "true"}})
	for _, name := range []string{"b", "c", "d"} {
		sw.add(t, OpenServer, name, netdev.Options{RunDir: dir})
	}
	a := attach(t, filepath.Join(dir, "a"), frontend.Config{})
	c := attach(t, filepath.Join(dir, "c"), frontend.Config{})
	d := attach(t, filepath.Join(dir, "d"), frontend.Config{})
	if err := a.Conn.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "guest is gone", func() bool { return port.dev.Info().Status["status"] == "disconnected" })
	x := &arrival{t: t}
	x.leave(a)
	conn, err := frontend.Dial(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	a.Conn = conn
	if err := a.Negotiate(); err != nil {
		t.Fatal(err)
	}
	x.hold(true)
	x.begin(a)
	if err := a.StartRing(1, a.Queues[0].TX, -1, -1, 0); err != nil {
		t.Fatal(err)
	}
	pass(t, c, d)
	eventually(t, "pages are asked for", func() bool { return peerOf(port).iommu.counts.asked.Load() > 0 })
	pass(t, c, d)
	sw.remove(t, port)
	pass(t, c, d)
}

// A front end that thinks better of it leaves nothing behind, however often.
func TestPostcopyCalledOff(t *testing.T) {
	dir := t.TempDir()
	sw := newSwitch(t)
	for _, name := range []string{"a", "b"} {
		sw.add(t, OpenServer, name, netdev.Options{RunDir: dir, Map: map[string]string{"vhost-postcopy-support": "true"}})
	}
	a := attach(t, filepath.Join(dir, "a"), frontend.Config{})
	b := attach(t, filepath.Join(dir, "b"), frontend.Config{})
	before := runtime.NumGoroutine()
	// Each has its price, as the rings have that start anew afterwards: no turn comes back here.
	const rounds = 5
	p := peerOf(sw.ports[0])
	p.mu.Lock()
	p.d.starts = bucket{burst: 100, every: time.Hour}
	p.mu.Unlock()
	for range rounds {
		if err := a.Post(vhostuser.PostcopyAdvise, nil); err != nil {
			t.Fatal(err)
		}
		var m vhostuser.Message
		fds, err := a.Read(&m)
		if err != nil || len(fds) != 1 {
			t.Fatalf("%d descriptors, %v", len(fds), err)
		}
		vhostuser.CloseFDs(fds)
		if v, err := a.GetU64(vhostuser.PostcopyEnd); err != nil || v != 0 {
			t.Fatal(v, err)
		}
	}
	p.mu.Lock()
	if used := p.d.starts.used; used != 2*rounds {
		t.Errorf("%d turns for %d processes and as many starts", used, rounds)
	}
	p.d.starts = startPace()
	p.mu.Unlock()
	eventually(t, "its goroutines are gone", func() bool { return runtime.NumGoroutine() <= before })
	pass(t, a, b)
}

// What is taken away during a postcopy is looked for no more, and a front end cannot have the pager map without end.
func TestPostcopyPlaces(t *testing.T) {
	region := func(guest uint64) vhostuser.Region { return vhostuser.Region{Guest: guest, Size: 4096} }
	c := &postcopy{places: []lazyRegion{{region(0), 1}, {region(4096), 2}, {region(8192), 3}}}
	c.forget([]vhostuser.Region{region(0), region(8192)})
	if len(c.places) != 1 || c.places[0].at != 2 {
		t.Errorf("%+v are left", c.places)
	}
	c.mapped = maxPlaces
	if _, err := (&peer{postcopy: c}).PostcopyMap([]vhostuser.Region{region(0)}); err == nil || !strings.Contains(err.Error(), "memory regions") {
		t.Errorf("one region too many: %v", err)
	}
}
