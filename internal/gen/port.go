package gen

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// Port is a device that traffic goes through.
type Port struct {
	Name string // as the program's user gave it
	Dev  netdev.Device

	queues atomic.Pointer[queues]
}

// queues are a device's queues at one time.
type queues struct {
	rx []netdev.RxQueue
	tx []netdev.TxQueue
}

// look takes the device's queues as they are now.
func (p *Port) look() {
	rx, tx := p.Dev.Queues()
	p.queues.Store(&queues{rx, tx})
}

// Ports is the ports of a run, and the host of their devices.
type Ports struct {
	mu      sync.Mutex
	all     []*Port
	workers []*worker     // that run
	state   atomic.Uint64 // counts changes of any port's queues
}

// Open adds a port.
func (s *Ports) Open(name, device string, open netdev.OpenFunc, o netdev.Options) (*Port, error) {
	d, err := open(device, o, s)
	if err != nil {
		// The device's name may be one that nobody gave it.
		return nil, fmt.Errorf("port %s: %s", name, strings.TrimPrefix(err.Error(), "port "+device+": "))
	}
	p := &Port{Name: name, Dev: d}
	s.mu.Lock()
	s.all = append(s.all, p)
	p.look()
	s.mu.Unlock()
	return p, nil
}

// Close closes all devices. No trial runs.
func (s *Ports) Close() error {
	s.mu.Lock()
	all := s.all
	s.all = nil // what they announce from now on returns at once
	s.mu.Unlock()
	var errs []error
	for _, p := range all {
		errs = append(errs, p.Dev.Close())
	}
	return errors.Join(errs...)
}

// Wait returns when all ports have their links and queues, at the latest after the time limit, and then it fails.
func (s *Ports) Wait(ctx context.Context, limit time.Duration) error {
	end := time.Now().Add(limit)
	for _, p := range s.all {
		for !p.ready() {
			if time.Now().After(end) {
				return fmt.Errorf("port %s: not ready within %v (--wait): %s", p.Name, limit, p.why())
			}
			if err := pause(ctx, 5*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Port) ready() bool {
	q := p.queues.Load()
	return p.Dev.Info().Link && len(q.rx) > 0 && len(q.tx) > 0
}

// why is what is missing.
func (p *Port) why() string {
	info := p.Dev.Info()
	switch {
	case info.Fault != "":
		return info.Fault
	case !info.Link:
		return "no link"
	default:
		return "no queues"
	}
}

// Changed implements netdev.Host.
func (s *Ports) Changed(d netdev.Device) {
	s.mu.Lock()
	for _, p := range s.all {
		if p.Dev == d {
			p.look()
		}
	}
	state, workers := s.state.Add(1), s.workers
	s.mu.Unlock()
	for _, w := range workers {
		for w.seen.Load() < state && !w.over.Load() {
			time.Sleep(50 * time.Microsecond)
		}
	}
}

// sendOn sends the first packet of b by a queue of p. No worker runs; what is announced meanwhile waits.
func (s *Ports) sendOn(p *Port, b *packet.Burst, st *netdev.TxStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := p.queues.Load(); len(q.tx) > 0 {
		b.Start(1)
		q.tx[0].Send(b, everything[:1], st)
	}
}

// empty takes what the ports received and throws it away. No worker runs.
func (s *Ports) empty(b *packet.Burst) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var stats netdev.RxStats
	for _, p := range s.all {
		for _, rx := range p.queues.Load().rx {
			for range emptyBursts {
				if rx.Recv(b, &stats) == 0 {
					break
				}
				rx.Release()
			}
		}
	}
}

// emptyBursts bounds the time that empty takes with a port whose frames come faster.
const emptyBursts = 1 << 12

// Inject implements netdev.Host: what a device has to say to a switch is not for a generator.
func (s *Ports) Inject(netdev.Device, []byte) {}
