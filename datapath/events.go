package datapath

import (
	"slices"
	"sync"

	"github.com/gvswitch/gvswitch/netdev"
)

// events tells control code what happened, from a goroutine of its own, so that
// neither a device nor a poll thread waits for what control code does about it.
type events struct {
	mu      sync.Mutex
	fault   func(*Port, string)
	change  func(*Port)
	queue   []event
	closed  bool
	arrived chan struct{}
	done    chan struct{}
}

type event struct {
	port   *Port
	reason string // of a fault; "" is a change
}

func (e *events) init() {
	e.arrived = make(chan struct{}, 1)
	e.done = make(chan struct{})
	go e.run()
}

func (e *events) run() {
	defer close(e.done)
	for range e.arrived {
		for {
			e.mu.Lock()
			if len(e.queue) == 0 {
				closed := e.closed
				e.mu.Unlock()
				if closed {
					return
				}
				break
			}
			ev := e.queue[0]
			e.queue = e.queue[1:]
			fault, change := e.fault, e.change
			e.mu.Unlock()
			switch {
			case ev.reason != "" && fault != nil:
				fault(ev.port, ev.reason)
			case ev.reason == "" && change != nil:
				change(ev.port)
			}
		}
	}
}

func (e *events) add(ev event) {
	e.mu.Lock()
	// Changes that nobody has seen yet are one.
	if !e.closed && !slices.Contains(e.queue, ev) {
		e.queue = append(e.queue, ev)
	}
	e.mu.Unlock()
	e.signal()
}

func (e *events) signal() {
	select {
	case e.arrived <- struct{}{}:
	default:
	}
}

func (e *events) stop() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.signal()
	<-e.done
}

// OnPortFault sets who is told when a port was stopped because its memory
// vanished or its device failed, and why. It runs on a goroutine of its own and
// may call the datapath.
func (d *Datapath) OnPortFault(f func(p *Port, reason string)) {
	d.events.mu.Lock()
	defer d.events.mu.Unlock()
	d.events.fault = f
}

// OnChange sets who is told when a port's Info or queues changed; several
// changes may be one call.
func (d *Datapath) OnChange(f func(p *Port)) {
	d.events.mu.Lock()
	defer d.events.mu.Unlock()
	d.events.change = f
}

// Changed implements netdev.Host.
func (d *Datapath) Changed(dev netdev.Device) {
	d.mu.Lock()
	p := d.byDev[dev]
	if p != nil {
		if p.bond != nil {
			d.runBond(p.bond)
			d.bonds.later(p.bond)
		}
		d.apply()
	}
	d.mu.Unlock()
	if p != nil {
		d.events.add(event{port: p})
	}
}
