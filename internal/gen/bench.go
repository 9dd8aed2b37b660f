package gen

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/internal/cpu"
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// Config is what a Bench is made of.
type Config struct {
	Check    Check
	Traffic  [maxPorts]*Traffic // what each port sends; nil if it does not
	Replay   [maxPorts]*Capture // in its place
	CPUs     []int              // of the workers, one each; none: one worker that runs anywhere
	Burst    int                // frames that are sent together at a set rate, if so many are due at all
	SendOnly bool               // what is sent is not expected back
	Reflect  bool               // what is received is sent back; then no port sends of itself
	Window   uint64             // frames of a port under way at most; 0: any number
}

// Bench sends and receives by ports.
type Bench struct {
	clock     Clock
	at        func() uint64
	cfg       Config
	ports     *Ports
	senders   [maxPorts][]*sender // by port and queue
	receivers [maxPorts][]*receiver
	checkers  [maxPorts]*Checker
	trial     int         // number of the last
	halt      atomic.Bool // interrupted: send no more
}

// NewBench makes a Bench of ports, one or two, that are ready (Wait).
func NewBench(ports *Ports, cfg Config) (*Bench, error) {
	b := &Bench{clock: NewClock(), at: cpu.Cycles, cfg: cfg, ports: ports}
	p := newPattern()
	var queues [maxPorts]int
	for i, port := range ports.all {
		q := port.queues.Load()
		for _, n := range []int{len(q.tx), len(q.rx)} {
			if n == 0 {
				return nil, fmt.Errorf("port %s: no queues", port.Name)
			}
		}
		switch t := cfg.Traffic[i]; {
		case cfg.Replay[i] != nil:
			queues[i] = 1
		case t != nil:
			queues[i] = min(len(q.tx), t.Flows, maxQueues)
			if err := b.suits(port, q.tx[0].Caps(), t); err != nil {
				return nil, err
			}
		}
		if queues[i] > 1 && cfg.Window > 0 && cfg.Check == CheckNone {
			return nil, refuse("window", cfg.Window, "port %s sends by %d queues, and without a check it is not known whose frames came", port.Name, queues[i])
		}
	}
	for i, port := range ports.all {
		b.checkers[i] = newChecker(cfg.Check, b.clock, p, cfg.Traffic, queues)
		for n := range port.queues.Load().rx {
			r := &receiver{port: port, number: n, check: b.checkers[i], burst: new(packet.Burst)}
			if cfg.Reflect {
				r.mirror = new(reflector)
			}
			b.receivers[i] = append(b.receivers[i], r)
		}
		for n := range queues[i] {
			s := &sender{port: port, number: n, burst: new(packet.Burst), window: cfg.Window}
			if cfg.Window > 0 {
				s.window = max(cfg.Window/uint64(queues[i]), 1)
			}
			if c := cfg.Replay[i]; c != nil {
				s.source = c.source()
			} else {
				s.source = newStream(cfg.Traffic[i], i, n, queues[i], p)
			}
			s.source.Prepare(s.burst)
			b.senders[i] = append(b.senders[i], s)
		}
	}
	for i, senders := range b.senders {
		for q, s := range senders {
			peer := b.checkers[b.Peer(i)]
			if s.came = &peer.Unique; cfg.Check != CheckNone {
				s.came, s.top = &peer.from[i][q].came, &peer.from[i][q].top
			}
		}
	}
	return b, nil
}

// suits says what of t the port cannot send.
func (b *Bench) suits(port *Port, caps netdev.TxCaps, t *Traffic) error {
	info := port.Dev.Info()
	// A virtio-user port takes longer frames than its back end, which then loses them. One tag more than there is nobody minds,
	// and the longest of imix needs it.
	if n, err := strconv.Atoi(info.Status["backend-mtu"]); err == nil && n > 0 {
		if most := MaxLen(n, 0, max(len(t.Tags), 1)); len(t.Sizes) > 0 && slices.Max(t.Sizes) > most {
			return refuse("size", slices.Max(t.Sizes), "port %s: the back end's MTU is %d, so frames have at most %d bytes; see its mtu_request", port.Name, n, most)
		}
	}
	if err := t.Validate(MaxLen(info.MTU, caps.MaxLen, len(t.Tags))); err != nil {
		return fmt.Errorf("port %s: %w", port.Name, err)
	}
	if t.Checksum == ChecksumPartial && !caps.Csum {
		return refuse("checksum", "partial", "port %s does not take it", port.Name)
	}
	return nil
}

// Peer is the port where the frames of port i are expected: the other one, or itself if there is one only.
func (b *Bench) Peer(i int) int { return (i + 1) % len(b.ports.all) }

// MeanSize is the average size of what port i sends, in bytes.
func (b *Bench) MeanSize(i int) float64 { return b.senders[i][0].source.MeanSize() }

// workers distributes senders and receivers.
func (b *Bench) workers(stop *atomic.Bool) []*worker {
	cpus := b.cfg.CPUs
	if len(cpus) == 0 {
		cpus = []int{-1}
	}
	var list []*worker
	for _, c := range cpus {
		list = append(list, &worker{cpu: c, clock: b.clock, ports: b.ports, stop: stop, halt: &b.halt, at: b.at})
	}
	k := 0
	for i := range b.ports.all {
		n := max(len(b.senders[i]), len(b.receivers[i]))
		for q := range n {
			w := list[k%len(list)]
			k++
			if q < len(b.senders[i]) {
				w.senders = append(w.senders, b.senders[i][q])
			}
			if q < len(b.receivers[i]) {
				w.receivers = append(w.receivers, b.receivers[i][q])
			}
		}
	}
	return list
}
