package driver

import (
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// spot is a place in a packed ring, and the wrap counter there (virtio 1.2, section 2.8.1).
type spot struct {
	at   uint16
	wrap bool
}

// spotOf reads the half of a base.
func spotOf(v uint16) spot { return spot{v &^ (1 << 15), v>>15 != 0} }

// step moves on by n entries, n <= size.
func (p *spot) step(n, size uint16) {
	if p.at += n; p.at >= size {
		p.at -= size
		p.wrap = !p.wrap
	}
}

// avail is the flags of a descriptor that the driver makes available here.
func (p *spot) avail() uint32 {
	if p.wrap {
		return descAvail
	}
	return descUsed
}

// packed is what receive and transmit have in common.
type packed struct {
	desc           uintptr
	driver, device uintptr // event suppression
	size           uint16
	eventIdx       bool
	broken

	head spot   // where to make available next
	tail spot   // where the device uses next
	fill uint16 // entries made available since NeedKick was asked last
}

func newPacked(c Config) packed {
	p := packed{
		desc: c.Desc, driver: c.Avail, device: c.Used, size: uint16(c.Size), eventIdx: c.Features&virtio.FEventIdx != 0,
		head: spotOf(uint16(c.Base)), tail: spotOf(uint16(c.Base >> 16)),
	}
	// What stands in the ring must not look available or used: beyond the head, entries are
	// of the round before.
	for i := range p.size {
		s := p.head
		if i < p.head.at {
			s.wrap = !s.wrap
		}
		flags := uint32(descAvail | descUsed)
		if s.wrap {
			flags = 0
		}
		mem.Store32Release(p.at(i)+12, flags<<16)
	}
	p.Disarm()
	return p
}

func (p *packed) at(i uint16) uintptr { return p.desc + 16*uintptr(i) }

// used tells whether the device has used the entry at the tail.
func (p *packed) used() bool {
	flags := mem.Load16Acquire(p.at(p.tail.at) + 14)
	if p.tail.wrap {
		return flags&(descAvail|descUsed) == descAvail|descUsed
	}
	return flags&(descAvail|descUsed) == 0
}

// NeedKick implements Signals.
func (p *packed) NeedKick() bool {
	mem.Fence()
	n := p.fill
	p.fill = 0
	w := mem.Peek32(p.device)
	switch flags := uint16(w >> 16); {
	case flags == eventDisable:
		return false
	case flags != eventDesc || !p.eventIdx:
		return true
	}
	event := uint16(w) &^ (1 << 15)
	if w>>15&1 != 0 != p.head.wrap {
		event -= p.size
	}
	return p.head.at-event-1 < n
}

// Arm implements Signals.
func (p *packed) Arm() bool {
	if p.eventIdx {
		w := uint32(p.tail.at) | eventDesc<<16
		if p.tail.wrap {
			w |= 1 << 15
		}
		mem.Store32Release(p.driver, w)
	} else {
		mem.Store32Release(p.driver, eventEnable<<16)
	}
	mem.Fence()
	return !p.used()
}

// Disarm implements Signals.
func (p *packed) Disarm() { mem.Store32Release(p.driver, eventDisable<<16) }
