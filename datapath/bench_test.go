package datapath

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/internal/cpu"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// benchDev gives the same frames again and again and counts what it gets: its own
// cost is one small copy a packet.
type benchDev struct {
	frames [][]byte
	at     int
	burst  int // 0: never anything
	mtu    int
}

func (d *benchDev) Info() netdev.Info { return netdev.Info{Link: true, MTU: d.mtu} }

func (d *benchDev) Queues() ([]netdev.RxQueue, []netdev.TxQueue) {
	return []netdev.RxQueue{d}, []netdev.TxQueue{d}
}
func (d *benchDev) Close() error        { return nil }
func (d *benchDev) Caps() netdev.TxCaps { return netdev.TxCaps{} }
func (d *benchDev) FD() int             { return -1 }
func (d *benchDev) Arm() bool           { return true }
func (d *benchDev) Disarm()             {}
func (d *benchDev) Release()            {}

func (d *benchDev) Recv(b *packet.Burst, st *netdev.RxStats) int {
	n := d.burst
	if n == 0 {
		return 0
	}
	bytes := 0
	for i := range n {
		f := d.frames[d.at]
		if d.at++; d.at == len(d.frames) {
			d.at = 0
		}
		p := &b.Pkts[i]
		p.Reset()
		p.SetHead(copy(p.Room(), f))
		bytes += len(f)
	}
	st.Packets.Add(uint64(n))
	st.Bytes.Add(uint64(bytes))
	return n
}

func (d *benchDev) Send(b *packet.Burst, list []uint16, st *netdev.TxStats) {
	bytes := 0
	for _, i := range list {
		bytes += int(b.Pkts[i].Len)
	}
	st.Packets.Add(uint64(len(list)))
	st.Bytes.Add(uint64(bytes))
}

// bare is a datapath whose only thread is run by the caller, by iterate.
func bare(t testing.TB) (*Datapath, *Bridge, *thread) {
	d, b := newSwitch(t)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopThreads(d.threads)
	th := d.threads[0]
	th.stopping.Store(false)
	if err := th.waker.open(); err != nil {
		t.Fatal(err)
	}
	th.stopped = make(chan struct{})
	close(th.stopped)
	th.asleep.Store(true) // the caller changes nothing while it iterates
	d.cfg.SleepMode = BusyPoll
	return d, b, th
}

// pair makes two ports whose devices send n frames of size bytes to each other,
// from and to macs hosts on each side, which are learned.
func pair(t testing.TB, b *Bridge, th *thread, n, macs, size int, c PortConfig) (*benchDev, *benchDev) {
	var devs [2]*benchDev
	for i := range devs {
		d := &benchDev{burst: packet.MaxBurst, mtu: 1500}
		for k := range n {
			f := eth((1-i)*100000+k%macs, i*100000+k%macs)
			f = append(f, make([]byte, size)...)[:size]
			f[14], f[15] = 0x45, 0
			f[30], f[31] = byte(k>>8), byte(k)
			d.frames = append(d.frames, f)
		}
		devs[i] = d
		plugDev(t, b, fmt.Sprint("p", i), c, d)
	}
	for range 2 * n / packet.MaxBurst {
		th.iterate()
	}
	return devs[0], devs[1]
}

func BenchmarkForward(b *testing.B) {
	for _, c := range []struct{ flows, macs, ports int }{
		{1024, 1, 2}, {16384, 1000, 2}, {1024, 1, 64},
	} {
		name := fmt.Sprintf("size=64/flows=%d/macs=%d/ports=%d", c.flows, c.macs, c.ports)
		b.Run(name, func(b *testing.B) {
			_, br, th := bare(b)
			pair(b, br, th, c.flows, c.macs, 64, trunk)
			for i := 2; i < c.ports; i++ {
				plugDev(b, br, fmt.Sprint("q", i), trunk, &benchDev{})
			}
			for range 100 {
				th.iterate()
			}
			report(b, th.iterate)
		})
	}
	for _, flows := range []int{1024, 16384} { // the devices alone, to be subtracted
		b.Run(fmt.Sprintf("size=64/flows=%d/devices", flows), func(b *testing.B) {
			_, br, th := bare(b)
			d1, d2 := pair(b, br, th, flows, 1, 64, trunk)
			var rx netdev.RxStats
			var tx netdev.TxStats
			var list []uint16
			for i := range packet.MaxBurst {
				list = append(list, uint16(i))
			}
			report(b, func() {
				d1.Recv(th.burst, &rx)
				d2.Send(th.burst, list, &tx)
				d2.Recv(th.burst, &rx)
				d1.Send(th.burst, list, &tx)
			})
		})
	}
	for _, c := range []struct{ name, a, b, tags string }{
		{"access", "access 5", "access 5", "- -"},
		{"access-trunk", "access 5", "trunk", "- 5"},
		{"trunk", "trunk", "trunk", "5 5"},
	} {
		b.Run("size=64/flows=1024/ports="+c.name, func(b *testing.B) {
			_, br, th := bare(b)
			d1, d2 := pair(b, br, th, 1024, 1, 64, trunk)
			for i, p := range br.Ports() {
				if err := p.Configure(portSpec([]string{c.a, c.b}[i])); err != nil {
					b.Fatal(err)
				}
			}
			tags := strings.Fields(c.tags)
			d1.frames, d1.at = [][]byte{tagSpec(100000, 0, tags[0])[:64]}, 0
			d2.frames, d2.at = [][]byte{tagSpec(0, 100000, tags[1])[:64]}, 0
			for range 10 {
				th.iterate()
			}
			report(b, th.iterate)
		})
	}
}

// report runs f, which handles two bursts, and gives the cycles per packet.
func report(b *testing.B, f func()) {
	best := uint64(1 << 62)
	for b.Loop() {
		start := cpu.Cycles()
		for range 64 {
			f()
		}
		best = min(best, cpu.Cycles()-start)
	}
	b.ReportMetric(float64(best)/(64*2*packet.MaxBurst), "cycles/pkt")
}
