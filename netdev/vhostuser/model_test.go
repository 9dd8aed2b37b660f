package vhostuser

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
	"github.com/gvswitch/gvswitch/packet"
)

// modelConfig is a random guest. Its buffers are large enough for any frame if it cannot join them.
type modelConfig struct {
	features uint64
	size     int
	rxBuf    int
	rxCuts   []int
	seed     uint64
}

const modelFrame = 1600 // the longest

func randomGuest(seed uint64, sizes []int) modelConfig {
	r := rand.New(rand.NewPCG(seed, 0))
	c := modelConfig{features: virtio.FVersion1, size: sizes[r.IntN(len(sizes))], rxBuf: modelFrame + 12, seed: seed}
	for _, f := range []uint64{virtio.NetFMrgRxbuf, virtio.FIndirectDesc, virtio.FEventIdx} {
		if r.IntN(2) == 0 {
			c.features |= f
		}
	}
	if c.features&virtio.NetFMrgRxbuf != 0 && r.IntN(2) == 0 {
		c.rxBuf = 64 + r.IntN(600)
	}
	if r.IntN(3) == 0 && c.size > 2 {
		c.rxCuts = []int{1 + r.IntN(40), 50}
	}
	return c
}

// model is a guest whose frames all come back to it, and what is on the way.
type model struct {
	*nic
	r       *rand.Rand
	queued  [][]byte // the switch has not received these
	way     [][]byte // the guest is to receive these
	dropped int
	seen    []string // what happened, to compare
}

func (m *model) note(format string, args ...any) {
	m.seen = append(m.seen, fmt.Sprintf(format, args...))
}

// send queues random frames in random layouts and publishes them at once.
func (m *model) send(c *modelConfig) {
	for range m.r.IntN(2 * packet.MaxBurst) {
		f := make([]byte, 14+m.r.IntN(modelFrame-14))
		for i := range f {
			f[i] = byte(m.r.Uint32())
		}
		s := virtiotest.Shape{Indirect: m.r.IntN(2) == 0 && c.features&virtio.FIndirectDesc != 0}
		for at := 1 + m.r.IntN(700); at < len(f) && len(s.Cuts)+1 < c.size && m.r.IntN(3) > 0; at += 1 + m.r.IntN(700) {
			s.Cuts = append(s.Cuts, at)
		}
		if m.Queue(virtiotest.Hdr{}, f, s) {
			m.queued = append(m.queued, f)
		}
	}
	m.TX.Publish()
}

// forward is one burst of the switch. What the guest has no room for is dropped from the end.
func (m *model) forward(t *testing.T) {
	before := m.ts.Packets.Load()
	got := m.loop()
	sent := int(m.ts.Packets.Load() - before)
	if got > len(m.queued) || sent > got {
		t.Fatalf("%d received of %d queued, %d sent", got, len(m.queued), sent)
	}
	m.way = append(m.way, m.queued[:sent]...)
	m.queued = m.queued[got:]
	m.dropped += got - sent
	m.note("forward %d of %d", sent, got)
}

// receive takes up to n frames.
func (m *model) receive(t *testing.T, n int) {
	for range n {
		f, err := m.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if f == nil {
			if len(m.way) > 0 {
				t.Fatalf("%d frames do not arrive", len(m.way))
			}
			return
		}
		if len(m.way) == 0 || !bytes.Equal(f.Data, m.way[0]) {
			t.Fatalf("frame of %d bytes arrived that is not the next; features %#x, ring of %d, then %q", len(f.Data), m.features, m.RX.Size, m.seen[max(0, len(m.seen)-5):])
		}
		m.way = m.way[1:]
		m.note("frame of %d in %d", len(f.Data), f.Hdr.NumBuffers)
	}
}

// start is a position to begin at: one of the ring's own.
func (m *model) start(r *virtiotest.Ring) uint16 {
	at := m.r.Uint32()
	if r.Packed() {
		return uint16(at%uint32(r.Size)) | uint16(at>>16)&(1<<15)
	}
	return uint16(at)
}

// run plays a random sequence and returns what happened.
func (c *modelConfig) run(t *testing.T, kind uint64) []string {
	m := &model{nic: newNIC(t, c.size, c.features|kind, c.rxBuf, c.rxCuts), r: rand.New(rand.NewPCG(c.seed, 1))}
	for range 120 {
		switch m.r.IntN(11) {
		case 0, 1, 2:
			m.send(c)
		case 3, 4, 5:
			m.forward(t)
		case 6, 7:
			m.receive(t, m.r.IntN(100))
			m.Fill()
		case 8:
			m.RX.Interrupts(m.r.IntN(2) == 0)
			m.TX.Interrupts(m.r.IntN(2) == 0)
			m.rx.Arm()
		case 9: // another back end takes over, and believes what it is told
			rx, tx := m.tx.ring.Base(), m.rx.ring.Base()
			m.attach(t, uint16(rx), uint16(tx))
			if m.tx.ring.Base() != rx || m.rx.ring.Base() != tx {
				t.Fatalf("bases %#x, %#x are taken for %#x, %#x", rx, tx, m.tx.ring.Base(), m.rx.ring.Base())
			}
		case 10:
			if m.r.IntN(4) > 0 {
				continue
			}
			m.restart(t, m.start(m.RX), m.start(m.TX)) // what was on the way is gone
			m.queued, m.way = nil, nil
			m.Fill()
		}
	}
	for len(m.queued) > 0 {
		m.forward(t)
		m.receive(t, 1000)
		m.Fill()
	}
	if m.InFlight() != 0 || m.TX.Free() != c.size {
		t.Fatalf("%d frames in flight, %d descriptors free of %d", m.InFlight(), m.TX.Free(), c.size)
	}
	m.note("dropped %d", m.dropped)
	full := m.ts.Drops[packet.TxRingFull].Load() + m.ts.Drops[packet.TxTooLong].Load()
	if int(full) != m.dropped || m.rs.Packets.Load() != m.ts.Packets.Load()+full {
		t.Fatalf("%d dropped, %d counted; %d received, %d sent", m.dropped, full, m.rs.Packets.Load(), m.ts.Packets.Load())
	}
	return m.seen
}

// Random guests and sequences of what they do: what arrives is what was sent, in order, and whatever
// kind the rings are, the same happens.
func TestModel(t *testing.T) {
	for seed := range uint64(many(15, 2000)) {
		c := randomGuest(seed, []int{2, 4, 16, 64, 256})
		var first []string
		for i, kind := range ringKinds {
			got := c.run(t, kind)
			if t.Failed() {
				t.Fatalf("%+v, rings of kind %d", c, i)
			}
			if i == 0 {
				first = got
			} else if !slices.Equal(got, first) {
				t.Fatalf("%+v: rings of kind %d give\n%q\nwant\n%q", c, i, got, first)
			}
		}
		// Only packed rings have other sizes.
		c = randomGuest(seed+1<<32, []int{1, 3, 7, 100, 300})
		for _, kind := range ringKinds[2:] {
			c.run(t, kind)
		}
	}
}

// Guest and switch at the same time, both going to sleep whenever there is nothing to do: nobody waits
// for a notification that does not come (B39), and the race detector sees the order of each access.
func TestSleepers(t *testing.T) {
	for _, event := range []uint64{0, virtio.FEventIdx} {
		for i, kind := range ringKinds {
			t.Run(fmt.Sprintf("event=%v,kind=%d", event != 0, i), func(t *testing.T) {
				sleepers(t, virtio.FVersion1|virtio.NetFMrgRxbuf|event|kind)
			})
		}
	}
}

func sleepers(t *testing.T, features uint64) {
	n := newNIC(t, 64, features, 2048, nil)
	kick, call := eventFD(t), eventFD(t)
	n.rx.kick, n.tx.call = kick, call
	total, stop, done := many(2000, 200_000), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			if n.loop() > 0 {
				continue
			}
			if n.rx.Arm() {
				select {
				case <-stop:
					return
				default:
				}
				if !wait(kick) {
					t.Error("the switch was not woken")
					return
				}
			}
			n.rx.Disarm()
		}
	}()
	r := rand.New(rand.NewPCG(features, 3))
	sent, got := 0, 0
	for got < total && !t.Failed() {
		for range r.IntN(20) {
			if sent-got < 60 && sent < total && n.Queue(virtiotest.Hdr{}, frame(sent, 100), virtiotest.Shape{}) {
				sent++
			}
		}
		n.TX.Publish()
		if n.TX.NeedKick() {
			frontend.Signal(kick)
		}
		if r.IntN(4) == 0 {
			runtime.Gosched()
		}
		for got < sent {
			f, err := n.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if f == nil {
				if r.IntN(3) == 0 {
					break
				}
				if !n.RX.Interrupts(true) && !wait(call) {
					t.Errorf("the guest was not woken after %d of %d frames", got, sent)
					break
				}
				n.RX.Interrupts(false)
				continue
			}
			if !bytes.Equal(f.Data, frame(got, 100)) {
				t.Fatalf("frame %d differs", got)
			}
			got++
			n.Fill()
		}
	}
	close(stop)
	frontend.Signal(kick)
	<-done
}

func eventFD(t *testing.T) int {
	fd, err := frontend.EventFD()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// wait waits for an eventfd and empties it.
func wait(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(p, 20_000)
		if err == unix.EINTR {
			continue
		}
		var b [8]byte
		_, _ = unix.Read(fd, b[:])
		return n > 0
	}
}
