package gen

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// modelHZ is the frequency of the model's counter.
const modelHZ = 1_000_000_000

// model is a clock that goes on when it is read, and devices that live by it. One worker uses it.
type model struct{ now uint64 }

// step is how much later each reading of the counter is.
const step = 200

func (m *model) at() uint64 {
	m.now += step
	return m.now
}

// wire is a device that gives what is sent on it to another one, so fast and no faster, with a queue of some frames.
type wire struct {
	m        *model
	peer     *wire
	interval uint64 // between frames, 0: none
	depth    int    // frames that may wait; more are lost, or refused if there is backpressure
	refuse   bool

	queue [][]byte // to be received, each with its time
	ready []uint64
	free  uint64 // when the line is free again

	fault func(n uint64, f []byte) [][]byte // what arrives in place of frame n
	n     uint64
	lent  [packet.MaxBurst][]byte
}

func (w *wire) Info() netdev.Info { return netdev.Info{Link: true, MTU: 9000} }

func (w *wire) Queues() ([]netdev.RxQueue, []netdev.TxQueue) {
	return []netdev.RxQueue{w}, []netdev.TxQueue{w}
}
func (w *wire) Close() error        { return nil }
func (w *wire) Caps() netdev.TxCaps { return netdev.TxCaps{} }
func (w *wire) FD() int             { return -1 }
func (w *wire) Arm() bool           { return true }
func (w *wire) Disarm()             {}
func (w *wire) Release()            {}

// Send implements netdev.TxQueue.
func (w *wire) Send(b *packet.Burst, list []uint16, st *netdev.TxStats) {
	for _, i := range list {
		full := len(w.peer.queue) >= w.depth
		if full && w.refuse {
			st.Drops[packet.TxRingFull].Add(1)
			continue
		}
		st.Packets.Add(1)
		st.Bytes.Add(uint64(b.Pkts[i].Len))
		if full {
			continue
		}
		w.n++
		arrives := [][]byte{b.Pkts[i].AppendTo(nil)}
		if w.fault != nil {
			arrives = w.fault(w.n, arrives[0])
		}
		for _, f := range arrives {
			w.free = max(w.free, w.m.now) + w.interval
			w.peer.queue, w.peer.ready = append(w.peer.queue, f), append(w.peer.ready, w.free)
		}
	}
}

// Recv implements netdev.RxQueue.
func (w *wire) Recv(b *packet.Burst, st *netdev.RxStats) int {
	n := 0
	for n < packet.MaxBurst && n < len(w.queue) && w.ready[n] <= w.m.now {
		w.lent[n] = w.queue[n]
		b.Pkts[n].SetBytes(w.lent[n])
		st.Packets.Add(1)
		n++
	}
	w.queue, w.ready = w.queue[n:], w.ready[n:]
	return n
}

// newModel is a Bench of two ports with a wire between them that carries so many frames per second each way.
func newModel(t *testing.T, capacity float64, depth int, refuse bool, cfg Config) (*Bench, [2]*wire) {
	t.Helper()
	m := &model{now: 1 << 40}
	var w [2]*wire
	for i := range w {
		w[i] = &wire{m: m, depth: depth, refuse: refuse}
		if capacity > 0 {
			w[i].interval = uint64(modelHZ / capacity)
		}
	}
	w[0].peer, w[1].peer = w[1], w[0]
	ports := new(Ports)
	for i, name := range []string{"a", "b"} {
		if _, err := ports.Open(name, name, func(string, netdev.Options, netdev.Host) (netdev.Device, error) { return w[i], nil }, netdev.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ports.Wait(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	if cfg.Burst == 0 {
		cfg.Burst = 1
	}
	if cfg.Traffic[0] == nil {
		forth := traffic(false, false)
		forth.Flows = 10
		back := forth.Reverse()
		cfg.Traffic = [maxPorts]*Traffic{forth, &back}
	}
	b, err := NewBench(ports, cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.clock, b.at = clockOf(modelHZ), m.at
	for _, c := range b.checkers {
		c.clock = b.clock
	}
	return b, w
}

var modelTrial = Trial{Duration: 20 * time.Millisecond, Drain: 10 * time.Millisecond}

// The counts and rates of a trial are what the model did.
func TestTrial(t *testing.T) {
	b, _ := newModel(t, 0, 1000, false, Config{})
	trial := modelTrial
	trial.Rate = 50_000
	r, err := b.Run(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range r.Ports {
		if p.Sent != 1000 || p.Received != 1000 || p.Lost+p.Refused+p.Skipped+p.Duplicate+p.Reordered+p.Corrupt != 0 {
			t.Errorf("port %d: %+v", i, p)
		}
		if p.SentPPS < 49_900 || p.SentPPS > 50_100 || p.ReceivedBytes != 64_000 {
			t.Errorf("port %d: %.0f pps, %d bytes", i, p.SentPPS, p.ReceivedBytes)
		}
		if l := p.Latency; l == nil || l.N != 1000 || l.Max > 10 {
			t.Errorf("port %d: latency %+v", i, l)
		}
	}
	if r.Total.Sent != 2000 || r.Wrong() != 0 {
		t.Errorf("total %+v", r.Total)
	}
}

// What a switch learns from is not counted in the trial that comes next.
func TestLearnIsNotCounted(t *testing.T) {
	b, _ := newModel(t, 0, 1000, false, Config{})
	if err := b.Learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	trial := modelTrial
	trial.Count = 10
	r, err := b.Run(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	if r.Total.Received != 20 || r.Total.ReceivedBytes != 20*64 {
		t.Errorf("%+v", r.Total)
	}
}

// Faults on the way are found to the frame, by both ports, in one trial after the other.
func TestTrialFaults(t *testing.T) {
	b, w := newModel(t, 0, 1000, false, Config{})
	var held []byte
	w[0].fault = func(n uint64, f []byte) [][]byte {
		switch n % 100 {
		case 10:
			return nil
		case 20:
			return [][]byte{f, f}
		case 30:
			f[60] ^= 1 // contents
			return [][]byte{f}
		case 40: // held until one of its flow has passed it
			held = f
			return nil
		case 51:
			return [][]byte{f, held}
		case 60:
			f[44] ^= 1 // mark
			return [][]byte{f}
		}
		return [][]byte{f}
	}
	trial := modelTrial
	trial.Count, trial.Duration = 1000, 0
	for range 3 {
		w[0].n = 0
		r, err := b.Run(t.Context(), trial)
		if err != nil {
			t.Fatal(err)
		}
		p := &r.Ports[1]
		if p.Lost != 20 || p.Duplicate != 10 || p.BadData != 10 || p.BadMark != 10 || p.Corrupt != 20 || p.Received != 980 || p.Reordered != 10 {
			t.Errorf("%+v", p)
		}
		if q := &r.Ports[0]; q.Received != 1000 || q.Lost+q.Duplicate+q.Corrupt+q.Reordered != 0 {
			t.Errorf("the other way: %+v", q)
		}
	}
}

// Frames that a port has no room for are not loss as long as no rate is set.
func TestRefused(t *testing.T) {
	b, _ := newModel(t, 100_000, 64, true, Config{})
	r, err := b.Run(t.Context(), modelTrial)
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Total; p.Lost != 0 || p.Refused != 0 || p.Sent < 4000 || p.Sent > 4200 {
		t.Errorf("without a rate: %+v", p)
	}
	trial := modelTrial
	trial.Rate = 200_000
	if r, err = b.Run(t.Context(), trial); err != nil {
		t.Fatal(err)
	}
	if p := r.Total; p.Lost != 0 || p.Sent+p.Refused != 8000 || p.Refused < 3800 {
		t.Errorf("at a rate: %+v", p)
	}
	if missed, of := r.Missed(); of != 8000 || missed != r.Total.Refused {
		t.Errorf("missed %d of %d", missed, of)
	}
	trial.Count, trial.Duration, trial.Rate = 500, 0, 0
	if r, err = b.Run(t.Context(), trial); err != nil {
		t.Fatal(err)
	}
	if r.Total.Sent != 1000 || r.Total.Received != 1000 {
		t.Errorf("counted: %+v", r.Total)
	}
}

// With a window nothing is lost where without one much is.
func TestWindowed(t *testing.T) {
	for _, window := range []uint64{0, 50} {
		b, _ := newModel(t, 100_000, 64, false, Config{Window: window})
		r, err := b.Run(t.Context(), modelTrial)
		if err != nil {
			t.Fatal(err)
		}
		if lost := r.Total.Lost; (lost == 0) != (window > 0) || r.Total.Received < 3800 {
			t.Errorf("window %d: %+v", window, r.Total)
		}
	}
}

// Frames that were lost do not fill the window: what is older than one that came is under way no longer.
func TestWindowWithLoss(t *testing.T) {
	b, w := newModel(t, 0, 1000, false, Config{Window: 20})
	w[0].fault = func(n uint64, f []byte) [][]byte {
		if n%10 == 0 {
			return nil
		}
		return [][]byte{f}
	}
	trial := modelTrial
	trial.Count, trial.Duration = 5000, 0
	r, err := b.Run(t.Context(), trial)
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Ports[1]; p.Lost != 500 || r.Seconds > 0.1 { // of the model's time
		t.Errorf("%d lost in %.3f s", p.Lost, r.Seconds)
	}
}

// A search finds the capacity of the model, for different allowances, up to its resolution.
func TestSearch(t *testing.T) {
	for _, c := range []struct {
		capacity  float64
		allowed   Loss
		low, high float64
		want      float64
	}{
		{60_000, Loss{}, 0, 200_000, 60_000},
		{60_000, Loss{Share: 0.2}, 1000, 200_000, 75_000},
		{123_456, Loss{}, 0, 200_000, 123_456},
		{0, Loss{}, 0, 100_000, 100_000},
	} {
		b, _ := newModel(t, c.capacity, 4, false, Config{})
		trial := modelTrial
		trial.Duration = 50 * time.Millisecond
		reports := 0
		r, err := b.Search(t.Context(), SearchConfig{
			Allowed: c.allowed, Trial: trial, Low: c.low, High: c.high, Resolution: 0.005, Report: func(SearchStep) { reports++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Rate < c.want*0.97 || r.Rate > c.want*1.02 || r.Best == nil || r.Best.Rate != r.Rate || reports != len(r.Steps) {
			t.Errorf("%+v: found %.0f after %d trials", c, r.Rate, len(r.Steps))
		}
	}
}

// Without an upper end, what the ports take is tried first; where nothing arrives, nothing is found.
func TestSearchEnds(t *testing.T) {
	b, w := newModel(t, 40_000, 16, true, Config{})
	r, err := b.Search(t.Context(), SearchConfig{Trial: modelTrial, Resolution: 0.01})
	if err != nil || r.Rate < 39_000 || r.Rate > 41_500 {
		t.Errorf("found %.0f, %v", r.Rate, err)
	}
	for _, x := range w {
		x.fault = func(uint64, []byte) [][]byte { return nil }
	}
	r, err = b.Search(t.Context(), SearchConfig{Trial: modelTrial, Low: 1000, High: 10_000, Resolution: 0.01})
	if err != nil || r.Rate != 0 || r.Best != nil || len(r.Steps) != 2 {
		t.Errorf("found %.0f in %d trials, %v", r.Rate, len(r.Steps), err)
	}
	if why := r.Steps[0].Why; why != "nothing arrived" {
		t.Errorf("because %q", why)
	}
}

// A trial ends with its context.
func TestInterrupted(t *testing.T) {
	b, _ := newModel(t, 0, 1000, false, Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := b.Run(ctx, Trial{Rate: 1, Drain: time.Millisecond}); err == nil {
		t.Error("no error")
	}
}

// The loop of a worker allocates nothing, whatever it sends and checks.
func TestNoAllocation(t *testing.T) {
	for _, check := range []Check{CheckFull, CheckSeq, CheckNone} {
		forth := traffic(false, true)
		forth.Sizes, forth.Flows, forth.Check = []int{64, 1518}, 100, check
		b, _ := newModel(t, 0, 1000, false, Config{Check: check, Traffic: [maxPorts]*Traffic{forth}})
		var stop atomic.Bool
		w := b.workers(&stop)[0]
		s, r := b.senders[0][0], b.receivers[1][0]
		s.begin(1)
		b.checkers[1].begin(1)
		s.pace = NewPacer(0, modelHZ, 1)
		s.pace.Start(0, 1<<63, 0)
		w.reload()
		echo := &echo{b: s.burst}
		s.tx, r.rx = echo, echo
		r.burst = s.burst
		if n := testing.AllocsPerRun(1000, w.turn); n != 0 {
			t.Errorf("check %d: %v allocations a turn", check, n)
		}
		if got := b.checkers[1].Unique.Load(); got < 30_000 || b.checkers[1].Corrupt.Load() > 0 {
			t.Errorf("check %d: %d frames arrived, %d corrupt", check, got, b.checkers[1].Corrupt.Load())
		}
	}
}

// echo is a queue that returns the last burst.
type echo struct {
	b *packet.Burst
	n int
}

func (e *echo) Send(_ *packet.Burst, list []uint16, st *netdev.TxStats) {
	e.n = len(list)
	st.Packets.Add(uint64(e.n))
}

func (e *echo) Recv(*packet.Burst, *netdev.RxStats) (n int) {
	n, e.n = e.n, 0
	return n
}
func (e *echo) Caps() netdev.TxCaps { return netdev.TxCaps{} }
func (e *echo) Release()            {}
func (e *echo) FD() int             { return -1 }
func (e *echo) Arm() bool           { return true }
func (e *echo) Disarm()             {}

// What a device announces reaches the workers before Changed returns.
func TestChanged(t *testing.T) {
	b, w := newModel(t, 0, 1000, false, Config{})
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := b.Run(ctx, Trial{Rate: 1000, Drain: time.Millisecond})
		done <- err
	}()
	for range 20 {
		time.Sleep(time.Millisecond)
		b.ports.Changed(w[0])
	}
	b.ports.mu.Lock()
	workers, state := b.ports.workers, b.ports.state.Load()
	b.ports.mu.Unlock()
	if len(workers) != 1 || workers[0].seen.Load() < state || state < 20 {
		t.Errorf("%d workers have not seen state %d", len(workers), state)
	}
	cancel()
	if <-done == nil {
		t.Error("the trial was not interrupted")
	}
	b.ports.Changed(w[0]) // nobody works any more
}

// FuzzLook gives the checker frames of any kind.
func FuzzLook(f *testing.F) {
	for _, v6 := range []bool{false, true} {
		for _, tcp := range []bool{false, true} {
			tr := traffic(v6, tcp, Tag{TPID: 0x8100, VID: 7})
			tr.Sizes = []int{tr.marked(), 140}
			all, _ := frames(newStream(tr, 0, 0, 1, testPattern), 2)
			f.Add(all[0])
			f.Add(all[1])
			f.Add(all[1][:tr.payload()])
		}
	}
	tr := traffic(false, false)
	c := newChecker(CheckFull, clockOf(1e9), testPattern, [maxPorts]*Traffic{tr}, [maxPorts]int{1})
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) < packet.MinFrame || len(frame) > packet.MaxFrame {
			return
		}
		c.begin(0)
		b := new(packet.Burst)
		b.Pkts[0].SetBytes(frame)
		c.Look(b, 1, 0)
		if n := c.Unique.Load() + c.Duplicate.Load() + c.TooLate.Load() + c.BadMark.Load() + c.Foreign.Load() + c.Stray.Load() + c.Learned.Load(); n != 1 {
			t.Errorf("counted %d times", n)
		}
	})
}
