package datapath

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
	"golang.org/x/sys/unix"
)

func cpuTime(t *testing.T) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// With the default settings an idle switch uses next to no processor time, and
// wakes up for the first frame.
func TestIdleSleeps(t *testing.T) {
	d, b := newSwitch(t)
	_, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	time.Sleep(20 * time.Millisecond) // it was woken for the ports
	eventually(t, "asleep", d.Idle)
	d.ClearThreadStats()
	before := cpuTime(t)
	time.Sleep(2 * time.Second)
	if used := cpuTime(t) - before; used > 100*time.Millisecond { // 1 %, times five for a busy machine
		t.Errorf("%v of processor time in 2 s", used)
	}
	if s := d.Threads()[0]; s.Iterations > 10 || s.Packets != 0 || s.SleepTime < time.Second {
		t.Errorf("woken without need: %+v", s)
	}
	for i := range 5 {
		d1.send(eth(-1, 1))
		settle(t, d1)
		eventually(t, "asleep again", d.Idle)
		if d2.count() != i+1 {
			t.Fatalf("frame %d did not wake the thread", i)
		}
	}
	if s := d.Threads()[0]; s.Sleeps == 0 || s.SleepTime < time.Second || s.Packets != 5 {
		t.Errorf("%+v", s)
	}
}

func TestSleepModes(t *testing.T) {
	for _, c := range []struct {
		conf   ThreadConfig
		sleeps bool
	}{
		{ThreadConfig{SleepMode: BusyPoll}, false},
		{ThreadConfig{SleepMode: Timed, SleepMax: 200 * time.Microsecond}, true},
	} {
		d, b := newSwitch(t)
		_, d1 := plug(t, b, "p1", trunk)
		_, d2 := plug(t, b, "p2", trunk)
		if err := d.SetThreads(c.conf); err != nil {
			t.Fatal(err)
		}
		d.Synchronize()
		since := d.Threads()[0].Iterations
		eventually(t, "iterations in this mode", func() bool { // the last sleep of the mode before is over
			return d.Threads()[0].Iterations > since+2
		})
		d.ClearThreadStats()
		if c.sleeps {
			eventually(t, "sleeps", func() bool { return d.Threads()[0].Sleeps != 0 })
		}
		time.Sleep(50 * time.Millisecond)
		for range 100 {
			d1.send(eth(-1, 1))
		}
		settle(t, d1)
		if d2.count() != 100 {
			t.Errorf("%+v: %d frames", c.conf, d2.count())
		}
		if s := d.Threads()[0]; (s.Sleeps != 0) != c.sleeps {
			t.Errorf("%+v: %d sleeps", c.conf, s.Sleeps)
		}
	}
}

// A queue that cannot wake the thread keeps it awake.
func TestNoDescriptorNoSleep(t *testing.T) {
	d, b := newSwitch(t)
	dev := newFake(t, 1)
	q := dev.queue(0)
	fd := q.fd
	q.fd = -1
	plugDev(t, b, "p1", trunk, dev)
	time.Sleep(20 * time.Millisecond)
	if d.Idle() {
		t.Error("asleep")
	}
	_ = fd
}

func TestSetThreads(t *testing.T) {
	d, b := newSwitch(t)
	_, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	for _, bad := range []ThreadConfig{
		{CPUs: []int{5000}},
		{CPUs: []int{0, 0}},
		{CPUs: []int{-1}},
		{SleepMode: Timed},
		{SleepMode: Timed, SleepMax: time.Second},
		{SleepMode: 9},
		{Assign: 9},
	} {
		if err := d.SetThreads(bad); err == nil {
			t.Errorf("%+v accepted", bad)
		} else if !strings.HasPrefix(err.Error(), "poll threads: ") {
			t.Errorf("%v", err)
		}
	}
	before := runtime.NumGoroutine()
	for range 20 {
		for _, cpus := range [][]int{{0}, {0, 1}, {1}, nil} {
			if err := d.SetThreads(ThreadConfig{CPUs: cpus}); err != nil {
				t.Fatal(err)
			}
			d1.send(eth(-1, 1))
			settle(t, d1)
			checkConservation(t, d)
		}
	}
	if d2.count() != 80 {
		t.Errorf("%d of 80 frames", d2.count())
	}
	if s := b.Ports()[1].Stats(); s.TxPackets != 80 {
		t.Errorf("counters of removed threads are lost: %d", s.TxPackets)
	}
	eventually(t, "threads gone", func() bool { return runtime.NumGoroutine() <= before })
}

// How queues are dealt to two threads.
func TestAssign(t *testing.T) {
	for _, c := range []struct {
		assign   Assign
		loads    []uint64 // of one queue each
		affinity map[int]int
		isolate  bool
		want     string // thread of each
	}{
		{RoundRobin, []uint64{9, 1, 5, 3}, nil, false, "0 1 0 1"},
		{Cycles, []uint64{9, 1, 5, 3}, nil, false, "0 0 1 1"}, // 9 down, 5, 3 and up, 1
		{Group, []uint64{9, 1, 5, 3}, nil, false, "0 1 1 1"},
		{Group, []uint64{0, 0, 0, 0}, nil, false, "0 1 0 1"},
		{RoundRobin, []uint64{1, 1, 1, 1}, map[int]int{0: 1}, false, "0 1 0 1"},
		{RoundRobin, []uint64{1, 1, 1, 1}, map[int]int{2: 1}, true, "0 0 1 0"},
		{RoundRobin, []uint64{1, 1, 1, 1}, map[int]int{2: 7}, true, "0 1 0 1"}, // no such thread
		{RoundRobin, []uint64{1, 1, 1, 1}, map[int]int{0: 0, 1: 1}, true, "0 1 0 1"},
	} {
		d, b := newSwitch(t)
		if err := d.SetThreads(ThreadConfig{CPUs: []int{0, 1}, Assign: c.assign, RxqIsolate: c.isolate}); err != nil {
			t.Fatal(err)
		}
		dev := newFake(t, len(c.loads))
		conf := trunk
		conf.Affinity = c.affinity
		p := plugDev(t, b, "p", conf, dev)
		d.mu.Lock()
		for i, q := range p.rxqs {
			q.load.ring[0] = c.loads[i]
		}
		d.mu.Unlock()
		d.Rebalance()
		got := make([]string, len(c.loads))
		for _, q := range d.Queues() {
			got[q.Queue] = fmt.Sprint(q.Thread)
		}
		if c.affinity[0] == 1 && !c.isolate {
			if got[0] != "1" { // the rest goes round from the first thread
				t.Errorf("pinned queue at %v", got)
			}
			continue
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%+v: %s", c, s)
		}
		// What has nothing to do with queues moves none, whatever the load.
		d.mu.Lock()
		for _, q := range p.rxqs {
			q.load.ring[0] = 100 - q.load.ring[0]
		}
		d.mu.Unlock()
		conf.NoFlood = true
		if err := p.Configure(conf); err != nil {
			t.Fatal(err)
		}
		for _, q := range d.Queues() {
			if got[q.Queue] != fmt.Sprint(q.Thread) {
				t.Errorf("%+v: queue %d moved", c, q.Queue)
			}
		}
	}
}

// A pause holds what was injected, too: accounts are drawn up and tx queues change
// hands in one.
func TestInjectWhilePaused(t *testing.T) {
	d, b := newSwitch(t)
	p1, _ := plug(t, b, "p1", trunk)
	plug(t, b, "p2", trunk)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				p1.Inject(eth(-1, 1))
			}
		}
	}()
	for range 300 {
		if _, err := d.Conservation(); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	<-done
}

func TestInject(t *testing.T) {
	d, b := newSwitch(t)
	p1, d1 := plug(t, b, "p1", trunk)
	_, d2 := plug(t, b, "p2", trunk)
	eventually(t, "asleep", d.Idle)
	long := append(eth(-1, 1), make([]byte, 5000)...)
	d.Inject(d1, long)
	long[100] = 99 // copied: nobody sees this
	d.Inject(d1, eth(-1, 1))
	p1.Inject(eth(-1, 1))
	d.Inject(newFake(t, 1), eth(-1, 1)) // not attached: nothing happens
	p1.Inject(make([]byte, 13))
	eventually(t, "frames sent", func() bool { return d2.count() == 3 })
	if f := d2.sent()[0]; len(f) != 5060 || f[100] != 0 {
		t.Errorf("%d bytes", len(f))
	}
	if s := p1.Stats(); s.RxPackets != 3 || s.RxDrops[packet.RxRunt] != 1 {
		t.Errorf("%+v", s)
	}
	if m := b.MACTable(); len(m) != 1 || m[0].Port != p1 {
		t.Errorf("%+v", m)
	}
	if c, err := d.Conservation(); err != nil || c.Injected != 3 {
		t.Errorf("%+v %v", c, err)
	}
}

// Configuration changes while frames run: nothing breaks, nothing is lost without
// a name, and what was removed is not touched any more. Run it with -race.
func TestChurn(t *testing.T) {
	d, b := newSwitch(t)
	if err := d.SetThreads(ThreadConfig{CPUs: []int{0, 1}}); err != nil {
		t.Fatal(err)
	}
	devs := []*fake{newFake(t, 2), newFake(t, 1), newFake(t, 2)}
	for i, dev := range devs {
		plugDev(t, b, fmt.Sprint("p", i), trunk, dev)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	run := func(f func(i int)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					f(i)
				}
			}
		}()
	}
	for n, dev := range devs {
		q := dev.queue(0)
		run(func(i int) {
			if q.empty() {
				for k := range 20 {
					q.send(eth((n+1+k)%3, n), eth(-1, n), tagged(n+1, n, uint16(k)))
				}
			}
			runtime.Gosched()
		})
	}
	run(func(i int) { // a port that comes and goes
		dev := newFake(t, 1)
		p, err := b.AddPort("x", PortConfig{Tag: i%3 - 1, AdminUp: i%5 != 0})
		if err != nil {
			t.Error(err)
			return
		}
		if err := p.Attach(dev); err != nil {
			t.Error(err)
		}
		dev.send(eth(1, 50), eth(-1, 50))
		time.Sleep(100 * time.Microsecond)
		if p.Detach() != netdev.Device(dev) {
			t.Error("Detach")
		}
		polled := func() int { dev.queue(0).mu.Lock(); defer dev.queue(0).mu.Unlock(); return dev.queue(0).polled }
		before := polled()
		time.Sleep(100 * time.Microsecond)
		if polled() != before {
			t.Error("polled after Detach")
		}
		p.Remove()
	})
	run(func(i int) { // queues that come and go
		dev := devs[2]
		dev.mu.Lock()
		rx, tx := dev.rx, dev.tx
		dev.rx, dev.tx = rx[:1], tx[:1]
		dev.mu.Unlock()
		d.Changed(dev)
		dev.mu.Lock()
		dev.rx, dev.tx = rx, tx
		dev.mu.Unlock()
		d.Changed(dev)
		time.Sleep(time.Millisecond)
	})
	run(func(i int) {
		_ = d.SetThreads(ThreadConfig{CPUs: [][]int{{0}, {0, 1}, nil}[i%3], SleepMode: SleepMode(i % 3), SleepMax: time.Microsecond})
		_ = b.Configure(BridgeConfig{MACTableSize: 2 + i%40})
		b.MACTable()
		b.MACStats()
		d.Threads()
		d.Queues()
		for _, p := range b.Ports() {
			p.Stats()
			p.Info()
		}
		checkConservation(t, d)
		time.Sleep(2 * time.Millisecond)
	})
	time.Sleep(1500 * time.Millisecond)
	eventually(t, "all ports got something", func() bool {
		return !slices.ContainsFunc(devs, func(dev *fake) bool { return dev.count() == 0 })
	})
	close(stop)
	wg.Wait()
}

// Nothing is allocated for packets, whatever way they take.
func TestNoAllocs(t *testing.T) {
	_, b, th := bare(t)
	pair(t, b, th, 64, 4, 200, portSpec("access 5"))
	bcast := &benchDev{burst: 4, frames: [][]byte{tagSpec(-1, 77, "5"), tagSpec(-1, 78, "6/1"), tagSpec(3, 79, "0/1"), tcp4(5, 6, 100)}}
	plugDev(t, b, "t", portSpec("trunk"), bcast)
	plugDev(t, b, "n", portSpec("native-untagged 6"), &benchDev{mtu: 100})
	g := &gsoDev{benchDev{burst: 1, frames: [][]byte{tcp4(-1, 9, 100)}}}
	plugDev(t, b, "g", portSpec("access 5"), g)
	b2 := addBridge(t, b.d, "br1")
	join(t, b, b2, "x", "trunk", "trunk")
	plugDev(t, b2, "o", trunk, &benchDev{})
	for range 10 {
		th.iterate()
	}
	if n := testing.AllocsPerRun(1000, th.iterate); n != 0 {
		t.Errorf("%v allocations per iteration", n)
	}
	if th.stats.recirc.Load() == 0 || th.stats.tableHits.Load() == 0 {
		t.Error("not all ways were taken")
	}
}

// gsoDev sends packets to be cut.
type gsoDev struct{ benchDev }

func (d *gsoDev) Queues() ([]netdev.RxQueue, []netdev.TxQueue) {
	return []netdev.RxQueue{d}, []netdev.TxQueue{d}
}

func (d *gsoDev) Recv(b *packet.Burst, st *netdev.RxStats) int {
	n := d.benchDev.Recv(b, st)
	gso(50)(&b.Pkts[0])
	return n
}
