package datapath

import (
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// fake is a device whose wire is two slices.
type fake struct {
	mu     sync.Mutex
	info   netdev.Info
	rx     []netdev.RxQueue
	tx     []netdev.TxQueue
	out    [][]byte // frames sent, in order
	offl   []offload
	index  []uint16 // in the burst
	full   bool     // the receiver takes nothing
	faults []string
	owns   func(addr uintptr) bool
	caps   netdev.TxCaps
	onSend func()
}

type offload struct {
	flags uint8
	gso   packet.GSOType
	size  uint16
}

type fakeRx struct {
	d      *fake
	fd     int
	mu     sync.Mutex
	frames []frame
	lent   int
	hook   func(b *packet.Burst)
	polled int
}

type frame struct {
	b    []byte
	prep func(p *packet.Packet)
}

func newFake(t testing.TB, queues int) *fake {
	d := &fake{info: netdev.Info{Link: true}, caps: netdev.TxCaps{Csum: true, TSO4: true, TSO6: true, ECN: true, USO: true}}
	for range queues {
		fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		d.rx = append(d.rx, &fakeRx{d: d, fd: fd})
		d.tx = append(d.tx, &fakeTx{d: d})
	}
	return d
}

func (d *fake) Info() netdev.Info {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.info
}

func (d *fake) Queues() ([]netdev.RxQueue, []netdev.TxQueue) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rx, d.tx
}
func (d *fake) Close() error { return nil }

// faulty is a fake whose memory may vanish.
type faulty struct{ *fake }

func (d faulty) OwnsAddr(a uintptr) bool { return d.owns != nil && d.owns(a) }

func (d faulty) Fault(reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = append(d.faults, reason)
	d.rx, d.tx, d.info.Link, d.info.Fault = nil, nil, false, reason
}

func (d *fake) queue(i int) *fakeRx { return d.rx[i].(*fakeRx) }

// send puts frames on the wire toward the switch.
func (d *fake) send(frames ...[]byte) { d.queue(0).send(frames...) }

func (q *fakeRx) send(frames ...[]byte) {
	q.mu.Lock()
	for _, f := range frames {
		q.frames = append(q.frames, frame{b: f})
	}
	q.mu.Unlock()
	q.kick()
}

func (q *fakeRx) sendWith(b []byte, prep func(p *packet.Packet)) {
	q.mu.Lock()
	q.frames = append(q.frames, frame{b, prep})
	q.mu.Unlock()
	q.kick()
}

func (q *fakeRx) kick() {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], 1)
	_, _ = unix.Write(q.fd, b[:])
}

func (q *fakeRx) Recv(b *packet.Burst, st *netdev.RxStats) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.polled++
	n := min(len(q.frames), packet.MaxBurst)
	if n == 0 {
		return 0
	}
	if q.lent != 0 {
		panic("Recv without Release")
	}
	for i, f := range q.frames[:n] {
		b.Pkts[i].SetBytes(f.b)
		if f.prep != nil {
			f.prep(&b.Pkts[i])
		}
		st.Packets.Add(1)
		st.Bytes.Add(uint64(len(f.b)))
	}
	q.lent = n
	if q.hook != nil {
		q.hook(b)
	}
	return n
}

func (q *fakeRx) Release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lent == 0 {
		panic("Release without Recv")
	}
	q.frames = q.frames[q.lent:]
	q.lent = 0
}

func (q *fakeRx) FD() int { return q.fd }

func (q *fakeRx) Arm() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.frames) == 0
}

func (q *fakeRx) Disarm() {
	var b [8]byte
	_, _ = unix.Read(q.fd, b[:])
}

func (q *fakeRx) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.frames) == 0
}

type fakeTx struct {
	d     *fake
	inUse bool // Send is running: queues are not shared without a lock
}

func (q *fakeTx) Caps() netdev.TxCaps { return q.d.caps }

func (q *fakeTx) Send(b *packet.Burst, list []uint16, st *netdev.TxStats) {
	if q.inUse {
		panic("two threads in one tx queue")
	}
	q.inUse = true
	defer func() { q.inUse = false }()
	d := q.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.onSend != nil {
		d.onSend()
	}
	for _, i := range list {
		p := &b.Pkts[i]
		if d.full {
			st.Drops[packet.TxRingFull].Add(1)
			continue
		}
		d.out = append(d.out, p.AppendTo(nil))
		d.offl = append(d.offl, offload{p.Flags, p.GSOType, p.GSOSize})
		d.index = append(d.index, i)
		st.Packets.Add(1)
		st.Bytes.Add(uint64(p.Len))
	}
}

// sent takes what the switch sent so far.
func (d *fake) sent() [][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.out
	d.out, d.offl, d.index = nil, nil, nil
	return out
}

func (d *fake) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.out)
}

// newSwitch is a datapath with one bridge; its account is checked at the end.
func newSwitch(t testing.TB) (*Datapath, *Bridge) {
	d := New(Config{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	d.OnPortFault(func(p *Port, reason string) { t.Errorf("port %q stopped: %s", p.Name(), reason) })
	b, err := d.AddBridge("br0", BridgeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		checkConservation(t, d)
		for _, b := range d.Bridges() {
			b.Remove()
		}
		checkConservation(t, d)
		d.Close()
	})
	return d, b
}

// checkConservation holds that no packet is lost without a name (B99). Every test ends
// with it.
func checkConservation(t testing.TB, d *Datapath) {
	t.Helper()
	if c, err := d.Conservation(); err != nil {
		t.Errorf("%v\n%+v", err, c)
	}
}

// plug adds a port with a fake device of one queue.
func plug(t testing.TB, b *Bridge, name string, c PortConfig) (*Port, *fake) {
	t.Helper()
	d := newFake(t, 1)
	return plugDev(t, b, name, c, d), d
}

func plugDev(t testing.TB, b *Bridge, name string, c PortConfig, dev netdev.Device) *Port {
	t.Helper()
	p, err := b.AddPort(name, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Attach(dev); err != nil {
		t.Fatal(err)
	}
	return p
}

var trunk = PortConfig{Tag: -1, AdminUp: true}

// eth makes a frame of 60 bytes or more: hosts are numbered, 0xff.. is
// broadcast (-1).
func eth(dst, src int, rest ...byte) []byte {
	f := append(append(mac(dst), mac(src)...), rest...)
	if len(rest) < 2 {
		f = append(f, 0x08, 0x00)
	}
	for len(f) < 60 {
		f = append(f, byte(len(f)))
	}
	return f
}

func mac(n int) net.HardwareAddr {
	if n < 0 {
		return net.HardwareAddr{255, 255, 255, 255, 255, 255}
	}
	return net.HardwareAddr{2, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
}

// tagged is eth with a tag.
func tagged(dst, src int, tci uint16, rest ...byte) []byte {
	return eth(dst, src, append([]byte{0x81, 0, byte(tci >> 8), byte(tci), 8, 0}, rest...)...)
}

// eventually waits for a condition, a minute at most.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !f(); time.Sleep(50 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// settle waits until the switch has handled all frames sent to it.
func settle(t testing.TB, devs ...*fake) {
	t.Helper()
	for i, d := range devs {
		for _, q := range d.rx {
			eventually(t, fmt.Sprintf("device %d drained", i), q.(*fakeRx).empty)
		}
	}
}
