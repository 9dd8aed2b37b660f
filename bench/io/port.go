package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/netdev/vhostuser"
	"github.com/gvswitch/gvswitch/netdev/virtiouser"
)

var kinds = map[string]netdev.OpenFunc{
	"dpdkvhostuser": vhostuser.OpenServer, "dpdkvhostuserclient": vhostuser.OpenClient, "virtio-user": virtiouser.Open,
}

var roles = map[string]port{
	"send": {sends: true}, "receive": {receives: true}, "both": {sends: true, receives: true},
	"reflect": {reflects: true}, "kick": {reflects: true, kicks: true}, "forward": {forwards: true},
}

// port is a device and what is done with it.
type port struct {
	sends, receives, reflects, kicks, forwards bool

	dev netdev.Device
}

// set is the ports and the threads that serve them. It is the devices' host.
type set struct {
	size    int
	ports   []*port
	threads []*thread
	wg      sync.WaitGroup
	quit    atomic.Bool

	sent, received atomic.Uint64 // by the threads

	mu      sync.Mutex
	running bool
	state   atomic.Uint64 // counts changes of queues
}

// open opens a port from ROLE=TYPE:OPTION=VALUE,...
func (s *set) open(i int, arg string) error {
	role, rest, _ := strings.Cut(arg, "=")
	kind, options, _ := strings.Cut(rest, ":")
	p, ok := roles[role]
	open := kinds[kind]
	if !ok || open == nil {
		return fmt.Errorf("%s: no such role or type", arg)
	}
	o := netdev.Options{Map: map[string]string{}}
	for item := range strings.SplitSeq(options, ",") {
		key, value, _ := strings.Cut(item, "=")
		o.Map[key] = value
	}
	dev, err := open(fmt.Sprint("io", i), o, s)
	p.dev = dev
	if err == nil {
		s.ports = append(s.ports, &p)
	}
	return err
}

func (s *set) close() {
	s.stop()
	for _, p := range s.ports {
		_ = p.dev.Close()
	}
}

func (s *set) faults() string {
	var all []string
	for _, p := range s.ports {
		info := p.dev.Info()
		all = append(all, fmt.Sprintf("link %v %s %v", info.Link, info.Fault, info.Status))
	}
	return strings.Join(all, "; ")
}

// Changed implements netdev.Host: it returns when each thread has taken the new queues, or all are about to end.
func (s *set) Changed(netdev.Device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state.Add(1)
	for _, t := range s.threads {
		for s.running && !s.quit.Load() && t.seen.Load() < state {
			time.Sleep(50 * time.Microsecond)
		}
	}
	if s.quit.Load() {
		s.wg.Wait()
	}
}

// Inject implements netdev.Host.
func (s *set) Inject(netdev.Device, []byte) {}

func (s *set) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = true
	for _, t := range s.threads {
		if err := t.prepare(); err != nil {
			return err
		}
		s.wg.Go(t.run)
	}
	return nil
}

// stop ends the threads. Nobody waits for them any more: they use no queue when it returns.
func (s *set) stop() {
	s.quit.Store(true)
	s.wg.Wait()
	s.mu.Lock()
	s.running = false
	s.mu.Unlock()
}
