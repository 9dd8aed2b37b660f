package datapath

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/checksum"
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// shared is a guest's memory: a memfd that its owner may truncate.
type shared struct {
	fd int
	b  []byte
}

func newShared(t *testing.T) *shared {
	fd, err := unix.MemfdCreate("guest", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Ftruncate(fd, 1<<16); err != nil {
		t.Fatal(err)
	}
	b, err := unix.Mmap(fd, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Munmap(b)
		_ = unix.Close(fd)
	})
	return &shared{fd, b}
}

func (s *shared) vanish() {
	if err := unix.Ftruncate(s.fd, 0); err != nil {
		panic(err)
	}
}

func (s *shared) owns(a uintptr) bool { return a-mem.AddrOf(s.b) < uintptr(len(s.b)) }

func (s *shared) touch() { s.b[0]++ }

// next is the next message.
func next(t *testing.T, c <-chan string) string {
	t.Helper()
	select {
	case s := <-c:
		return s
	case <-time.After(60 * time.Second):
		t.Fatal("no port stopped within 10 s")
		return ""
	}
}

// Memory that vanishes stops its owner and nobody else, whatever the thread was
// doing with it.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		owner string
		setup func(s *shared, in, out *fake)
	}{
		{"in Recv", "in", func(s *shared, in, _ *fake) {
			in.queue(0).hook = func(*packet.Burst) { s.vanish(); s.touch() }
		}},
		{"in Send, the lender's", "in", func(s *shared, in, _ *fake) {
			in.queue(0).hook = func(b *packet.Burst) {
				b.Pkts[0].AddSeg(mem.AddrOf(s.b[100:]), 1000)
				s.vanish()
			}
		}},
		{"in Send, the receiver's", "out", func(s *shared, _, out *fake) {
			n := 0
			out.onSend = func() {
				if n++; n == 2 {
					s.vanish()
					s.touch()
				}
			}
		}},
		{"in software checksumming", "in", func(s *shared, in, out *fake) {
			out.caps.Csum = false
			in.queue(0).hook = func(b *packet.Burst) {
				p := &b.Pkts[0]
				p.AddSeg(mem.AddrOf(s.b[100:]), 1000)
				// IPv4 and TCP, so that there is something to finish.
				h := p.Head()
				ip := []byte{0x45, 0, byte((p.Len - 14) >> 8), byte(p.Len - 14), 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}
				binary.BigEndian.PutUint16(ip[10:], ^checksum.Sum(ip, 0))
				copy(h[12:], []byte{0x08, 0x00})
				copy(h[14:], ip)
				h[46] = 0x50
				p.Flags, p.CsumStart, p.CsumOffset = packet.CsumPartial, 34, 16
				s.vanish()
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, cpus := range [][]int{nil, {0, 1}} {
				d, b := newSwitch(t)
				if err := d.SetThreads(ThreadConfig{CPUs: cpus}); err != nil {
					t.Fatal(err)
				}
				stopped := make(chan string, 10)
				d.OnPortFault(func(p *Port, reason string) { stopped <- p.Name() + ": " + reason })
				s := newShared(t)
				in, out := newFake(t, 1), newFake(t, 1)
				c.setup(s, in, out)
				if c.owner == "in" {
					in.owns = s.owns
				} else {
					out.owns = s.owns
				}
				plugDev(t, b, "in", trunk, faulty{in})
				po := plugDev(t, b, "out", trunk, faulty{out})
				_, d3 := plug(t, b, "p3", trunk)
				_, d4 := plug(t, b, "p4", trunk)
				if err := b.AddStaticMAC(po, 0, mac(2)); err != nil {
					t.Fatal(err)
				}
				in.send(eth(2, 1), eth(2, 1))
				if c.owner == "out" {
					settle(t, in)
					in.send(eth(2, 1), eth(2, 1))
				}
				got := "nobody within a minute"
				select {
				case got = <-stopped:
				case <-time.After(60 * time.Second):
				}
				if !strings.HasPrefix(got, c.owner+": memory vanished") {
					t.Fatalf("stopped %q", got)
				}
				// Others go on.
				d3.send(eth(-1, 3))
				settle(t, d3)
				d4.send(eth(3, 4))
				settle(t, d4)
				if d3.count() != 1 {
					t.Error("ports that have nothing to do with it do not work")
				}
				checkConservation(t, d)
				var lost uint64
				for _, p := range b.Ports() {
					s := p.Stats()
					lost += s.RxDrops[packet.PortFault] + s.TxDrops[packet.PortFault]
				}
				if lost == 0 {
					t.Error("nothing counted as port_fault")
				}
				if len(in.faults)+len(out.faults) != 1 {
					t.Errorf("told %q %q", in.faults, out.faults)
				}
			}
		})
	}
}

// A flood whose heads need more room than there is sends in the middle of a burst. A
// fault there finds every packet counted once, whatever was done with it so far;
// newSwitch's cleanup draws up the account.
func TestFaultMidFlood(t *testing.T) {
	for _, sends := range []int{1, 2, 3} { // the call that faults
		d, b := newSwitch(t)
		stopped := make(chan string, 10)
		d.OnPortFault(func(p *Port, _ string) { stopped <- p.Name() })
		s := newShared(t)
		in, out := newFake(t, 1), newFake(t, 1)
		out.owns = s.owns
		n := 0
		out.onSend = func() {
			if n++; n == sends {
				s.vanish()
				s.touch()
			}
		}
		plugDev(t, b, "in", trunk, in)
		plugDev(t, b, "a", PortConfig{Tag: 10, VLANMode: VLANAccess, AdminUp: true}, faulty{out})
		plugDev(t, b, "b", PortConfig{Tag: 10, VLANMode: VLANAccess, PriorityTags: PriorityAlways, AdminUp: true}, newFake(t, 1))
		b2 := addBridge(t, d, "br1")
		for _, p := range []struct {
			b          *Bridge
			name, peer string
		}{{b, "x", "y"}, {b2, "y", "x"}} {
			if _, err := p.b.AddPort(p.name, PortConfig{Tag: -1, AdminUp: true, Peer: p.peer}); err != nil {
				t.Fatal(err)
			}
		}
		var frames [][]byte
		for i := range packet.MaxBurst {
			frames = append(frames, eth(-1, i+1, 0x81, 0, 0, 10))
		}
		for range sends { // each of more heads than there is room for
			in.send(frames...)
		}
		if got := next(t, stopped); got != "a" {
			t.Errorf("stopped %q", got)
		}
		settle(t, in)
		checkConservation(t, d)
	}
}

// A list that is sent because it is full, before the burst is over, may fault, too.
func TestFaultOfFullList(t *testing.T) {
	th := &thread{d: &Datapath{}, w: &work{}, burst: new(packet.Burst), dirty: make([]uint16, 1)}
	th.stats.init()
	o := &txPort{c: &outCounters{}, tc: &threadCounters{}, q: vanishing{}}
	o.c = &o.tc.out
	th.tx = []*txPort{o}
	var in inCounters
	func() {
		defer func() { _ = recover() }()
		for range listCap {
			in.copies.Add(1)
			th.push(o, 0)
		}
	}()
	th.writeOff(nil)
	if made, bound := in.copies.Load(), o.c.copies.Load(); made != bound || made == listCap {
		t.Errorf("%d copies made, %d bound", made, bound)
	}
	if n := o.c.unaccounted(); n != 0 {
		t.Errorf("%d unaccounted for", n)
	}
}

// vanishing is a tx queue whose memory has gone.
type vanishing struct{ netdev.TxQueue }

func (vanishing) Send(*packet.Burst, []uint16, *netdev.TxStats) { panic("memory vanished") }

// A device that was faulted and has a peer again works again.
func TestFaultAndReturn(t *testing.T) {
	d, b := newSwitch(t)
	stopped := make(chan string, 10)
	d.OnPortFault(func(p *Port, reason string) { stopped <- reason })
	s := newShared(t)
	in := newFake(t, 1)
	in.owns = s.owns
	in.queue(0).hook = func(*packet.Burst) { s.vanish(); s.touch() }
	dev := faulty{in}
	p := plugDev(t, b, "in", trunk, dev)
	_, out := plug(t, b, "out", trunk)
	in.send(eth(-1, 1))
	next(t, stopped)
	if i := p.Info(); i.Link || i.Fault == "" {
		t.Errorf("%+v", i)
	}
	again := newFake(t, 1)
	in.mu.Lock()
	in.rx, in.tx, in.info.Fault = again.rx, again.tx, ""
	in.mu.Unlock()
	d.Changed(dev)
	again.send(eth(-1, 1))
	settle(t, again)
	if out.count() != 1 {
		t.Error("does not work again")
	}
}

// A bug in a device stops its port; the switch goes on.
func TestPanicStopsPort(t *testing.T) {
	d, b := newSwitch(t)
	stopped := make(chan string, 10)
	d.OnPortFault(func(p *Port, reason string) { stopped <- p.Name() + ": " + reason })
	p1, in := plug(t, b, "in", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	_, d3 := plug(t, b, "p3", trunk)
	in.queue(0).hook = func(*packet.Burst) { panic("a bug") }
	in.send(eth(-1, 1))
	if got := next(t, stopped); !strings.Contains(got, "in: internal error: a bug") {
		t.Errorf("%q", got)
	}
	if i := p1.Info(); i.Link || !strings.Contains(i.Fault, "a bug") {
		t.Errorf("%+v", i)
	}
	d2.send(eth(-1, 2))
	settle(t, d2)
	if d3.count() != 1 {
		t.Error("others do not work")
	}
}

// Of a fault that two threads met, the second's word may come late: then it says
// nothing about the queues that the port has by now.
func TestLateFault(t *testing.T) {
	d, b := newSwitch(t)
	stopped := make(chan string, 10)
	d.OnPortFault(func(_ *Port, reason string) { stopped <- reason })
	dev := faulty{newFake(t, 1)}
	p := plugDev(t, b, "p1", trunk, dev)
	d.mu.Lock()
	epoch := d.epoch
	rx, tx := dev.rx, dev.tx
	d.mu.Unlock()
	d.portFault(p, dev, epoch, "first")
	if got := next(t, stopped); got != "first" {
		t.Fatal(got)
	}
	dev.mu.Lock()
	dev.rx, dev.tx, dev.info.Fault = rx, tx, "" // the next peer
	dev.mu.Unlock()
	d.Changed(dev)
	d.portFault(p, dev, epoch, "late")
	if f := p.Info().Fault; f != "" {
		t.Errorf("stopped again: %s", f)
	}
	d.portFault(p, dev, d.epoch, "new")
	if got := next(t, stopped); got != "new" {
		t.Errorf("a fault of the new peer: %q", got)
	}
}
