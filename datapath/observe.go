package datapath

import (
	"github.com/gvswitch/gvswitch/internal/cpu"
	"github.com/gvswitch/gvswitch/packet"
)

// observers are the captures and explanations that a poll thread serves. The list never changes; a thread
// without any has none, and that is all that it looks at, once a burst.
type observers struct {
	taps     []*tap
	explains []*explainer
}

// tap is a capture's part in one thread.
type tap struct {
	thread         *thread
	port           *Port
	in, out, drops bool
	snap           uint32
	filter         selector
	ring           *captureRing
	last           int64 // time of the last packet read; the reader's
}

// observe gives every thread the observers that there are now, and returns when none uses those that were
// before. d.mu is held.
func (d *Datapath) observe() error {
	for _, t := range d.threads {
		if err := d.observeThread(t); err != nil {
			return err
		}
	}
	d.synchronize()
	return nil
}

func (d *Datapath) observeThread(t *thread) error {
	var o *observers
	if len(d.captures)+len(d.explainers) > 0 {
		o = &observers{}
		for _, c := range d.captures {
			p, err := c.tapOf(t)
			if err != nil {
				return err
			}
			o.taps = append(o.taps, p)
		}
		o.explains = append(o.explains, d.explainers...)
	}
	t.observed.Store(o)
	t.wake()
	return nil
}

// observe shows the burst's first n packets, which came in at v, to the captures that want to see them.
func (t *thread) observe(v *portView, n int) {
	if v == nil {
		return
	}
	for i := range n {
		t.burst.Pkts[i].InPort = uint32(v.id)
	}
	for _, p := range t.obs.taps {
		if !p.in || p.port != v.port {
			continue
		}
		now := cpu.Cycles()
		for i := range n {
			q := &t.burst.Pkts[i]
			if p.filter.takes(t, q) {
				p.ring.put(q, p.snap, now, v.id, In, packet.DropNone)
			}
		}
		p.ring.publish()
	}
}

// sawSent is told what is handed to o's device.
func (t *thread) sawSent(o *txPort, b *packet.Burst, list []uint16) {
	for _, p := range t.obs.taps {
		if !p.out || !t.isPort(o.id, p.port) {
			continue
		}
		now := cpu.Cycles()
		for _, i := range list {
			if q := &b.Pkts[i]; p.filter.takes(t, q) {
				p.ring.put(q, p.snap, now, o.id, Out, packet.DropNone)
			}
		}
		p.ring.publish()
	}
}

// sawPatch is told that a packet leaves by patch port from and enters by its peer.
func (t *thread) sawPatch(q *packet.Packet, from, to uint16) {
	t.saw(q, from, Out, packet.DropNone)
	t.saw(q, to, In, packet.DropNone)
}

// saw is told of one packet: why is DropNone if it goes on.
func (t *thread) saw(q *packet.Packet, port uint16, dir Direction, why packet.DropReason) {
	for _, p := range t.obs.taps {
		wanted := p.drops
		if why == packet.DropNone {
			wanted = dir == In && p.in || dir == Out && p.out
		}
		if wanted && t.isPort(port, p.port) && p.filter.takes(t, q) {
			p.ring.put(q, p.snap, cpu.Cycles(), port, dir, why)
			p.ring.publish()
		}
	}
}

func (t *thread) isPort(id uint16, p *Port) bool {
	return int(id) < len(t.w.ports) && t.w.ports[id] != nil && t.w.ports[id].port == p
}

// drop counts packet p, which was counted in in, as dropped.
func (t *thread) drop(in *inCounters, why packet.DropReason, p *packet.Packet) {
	in.drops[why].Add(1)
	if t.obs != nil {
		t.saw(p, in.port, In, why)
	}
}

// dropBurst does so with the burst's first n packets.
func (t *thread) dropBurst(in *inCounters, why packet.DropReason, n int) {
	in.drops[why].Add(uint64(n))
	if t.obs != nil {
		for i := range n {
			t.saw(&t.burst.Pkts[i], in.port, In, why)
		}
	}
}

// discard counts packet p, which was on o's list, as dropped.
func (t *thread) discard(o *txPort, why packet.DropReason, p *packet.Packet) {
	o.c.Drops[why].Add(1)
	if t.obs != nil {
		t.saw(p, o.id, Out, why)
	}
}

// lose counts packet p, bound for o, as lost before it was on its list.
func (t *thread) lose(o *txPort, why packet.DropReason, p *packet.Packet) {
	o.c.copies.Add(1)
	t.discard(o, why, p)
}
