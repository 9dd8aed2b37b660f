package datapath

import "fmt"

// Conservation is the account of all packets since the datapath began, ports and
// threads that were removed included. The rule is that of DESIGN.md section 2:
// every packet received or injected was dropped under one reason or yielded
// copies; every copy, and every further segment that cutting one made, was sent or
// lost under one reason.
type Conservation struct {
	Received  uint64 // from devices, by injection and through patches
	Injected  uint64 // accepted from control code
	Held      uint64 // injected and still waiting for a thread
	Forwarded uint64 // packets that yielded copies
	Dropped   uint64 // packets that yielded none, by named reasons
	Copies    uint64 // put on the lists of ports
	Segments  uint64 // made by cutting, beyond the packets that were cut
	Sent      uint64 // taken by devices and patches
	TxDropped uint64 // copies and segments lost under named reasons
	Device    uint64 // frames that devices lost under named reasons before the datapath got them
}

// Conservation draws up the account while all threads pause between bursts, and
// fails if it does not balance.
func (d *Datapath) Conservation() (Conservation, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pause(true)
	sum := d.gone
	var c Conservation
	for _, p := range d.ports {
		if p != nil {
			sum.add(p.totals())
		}
	}
	for _, t := range d.threads {
		c.Held += uint64(t.inbox.held())
	}
	d.pause(false)
	c.Received, c.Injected = sum.RxPackets, sum.injected
	c.Forwarded, c.Copies, c.Segments = sum.forwarded, sum.copies, sum.segments
	c.Device = sum.deviceDrops
	c.Dropped = sum.RxDrops.Total() - c.Device
	c.Sent, c.TxDropped = sum.TxPackets, sum.TxDrops.Total()
	switch {
	case c.Received != c.Forwarded+c.Dropped:
		return c, fmt.Errorf("conservation: received %d, but forwarded %d + dropped %d", c.Received, c.Forwarded, c.Dropped)
	case sum.inCopies != c.Copies:
		return c, fmt.Errorf("conservation: %d copies made of received packets, but %d bound for ports", sum.inCopies, c.Copies)
	case c.Copies+c.Segments != c.Sent+c.TxDropped:
		return c, fmt.Errorf("conservation: copies %d + segments %d, but sent %d + lost %d", c.Copies, c.Segments, c.Sent, c.TxDropped)
	case c.Copies < c.Forwarded:
		return c, fmt.Errorf("conservation: %d forwarded packets made only %d copies", c.Forwarded, c.Copies)
	case sum.injectedSeen+c.Held != c.Injected:
		return c, fmt.Errorf("conservation: injected %d, but received %d of them and %d wait", c.Injected, sum.injectedSeen, c.Held)
	}
	return c, nil
}
