package vhostuser

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
	"github.com/gvswitch/gvswitch/netdev"
)

// ring is a vring that is served.
type ring struct {
	ring  virtio.Ring
	rx    *rxQueue // one of the three
	tx    *txQueue
	out   netdev.TxQueue // tx, with a filter if the guest can have one
	state vhostuser.RunState
	kick  vhostuser.FD
	call  int
	base  uint32 // where it started
	moved bool   // the guest made something available since
	at    virtio.Config

	suspect int // how often in a row notShared has found it kicked and empty

	control *control
	io      *ioRing              // of a guest with an IOMMU: what ring is, or is made of
	waiting *vhostuser.RingStart // its parts are not translated yet, so there is no queue
}

// Start implements vhostuser.Device. p.mu is held.
func (p *peer) Start(starts []vhostuser.RingStart) []error {
	errs := make([]error, len(starts))
	if !p.d.starts.take(p.d.pause) || p.dead.Load() {
		for i := range errs {
			errs[i] = errors.New("the port is being closed")
		}
		return errs
	}
	for i := range starts {
		if r, err := p.build(&starts[i]); err != nil {
			errs[i] = fmt.Errorf("vring %d: %w", starts[i].Index, err)
		} else {
			p.rings[starts[i].Index] = r
		}
	}
	p.publish()
	return errs
}

// Stop implements vhostuser.Device. p.mu is held.
func (p *peer) Stop(indices []int) []uint32 {
	var gone []*ring
	for _, i := range indices {
		gone = append(gone, p.rings[i])
		delete(p.rings, i)
	}
	p.publish()
	next := make([]uint32, len(gone))
	for i, r := range gone {
		next[i] = r.base
		if r.ring != nil {
			next[i] = r.ring.Base()
		}
		r.close()
	}
	if len(p.rings) == 0 {
		p.flush() // while nothing runs, front ends take nothing back
	}
	return next
}

// close gives back what the ring's queue has. No poll thread uses it any more.
func (r *ring) close() {
	switch {
	case r.control != nil:
		r.control.close()
	case r.rx != nil:
		r.rx.close()
	case r.tx != nil:
		r.tx.close()
	}
}

// build makes the queue that serves a vring.
func (p *peer) build(s *vhostuser.RingStart) (*ring, error) {
	v := &s.Vring
	p.d.mu.Lock()
	set := p.d.set
	p.d.mu.Unlock()
	fromGuest := s.Index%2 == 1
	c := virtio.Config{
		Size: int(v.Num), Features: s.Features, Mem: p.memory.Guest(), Base: v.Base, DeviceWrites: !fromGuest,
		Mixed: s.Control,
	}
	io, there, err := p.place(s, &c)
	if err != nil {
		return nil, err
	}
	if !there {
		again := *s
		return &ring{waiting: &again, state: s.State, kick: v.Kick, call: v.Call.Num, base: v.Base}, nil
	}
	for _, fd := range []int{v.Kick.Num, v.Call.Num} {
		if fd >= 0 {
			if err := unix.SetNonblock(fd, true); err != nil {
				return nil, fmt.Errorf("descriptor: %w", err)
			}
		}
	}
	vq, err := p.newRing(s, &c)
	if err != nil {
		return nil, err
	}
	if io != nil {
		io.inner, vq = vq, io
	}
	vq = p.logged(vq, s, &c)
	r := &ring{ring: vq, io: io, state: s.State, kick: v.Kick, call: v.Call.Num, base: vq.Base(), at: c}
	rc := ringConfig{
		ring: vq, kickFD: v.Kick.Num, callFD: v.Call.Num, features: p.takes(s.Features),
		discard: s.State == vhostuser.Discarding, zeroCopy: set.zeroCopy, retries: set.retries,
	}
	switch {
	case s.Control:
		err = p.buildControl(s, r)
	case fromGuest:
		r.rx, err = newRxQueue(rc)
	default:
		r.tx, err = newTxQueue(rc)
		r.out = r.tx
		if s.Features&virtio.NetFCtrlVQ != 0 {
			r.out = &filteredTx{txQueue: r.tx, want: &p.want}
		}
	}
	return r, err
}

// place finds the three parts of a ring. With an IOMMU that may have to wait for the front end.
func (p *peer) place(s *vhostuser.RingStart, c *virtio.Config) (io *ioRing, there bool, err error) {
	if s.Features&virtio.FAccessPlatform != 0 || p.postcopy != nil && p.postcopy.lazy {
		return p.translated(s, c)
	}
	v := &s.Vring
	desc, avail, used := virtio.Sizes(c.Features, c.Size)
	for _, part := range []struct {
		host *uintptr
		addr uint64
		size int
		name string
	}{{&c.Desc, v.Desc, desc, "descriptor table"}, {&c.Avail, v.Avail, avail, "available ring"}, {&c.Used, v.Used, used, "used ring"}} {
		host, ok := p.memory.User().Translate(part.addr, uint64(part.size))
		if !ok {
			return nil, false, fmt.Errorf("%s of %d bytes at %#x is not in one memory region", part.name, part.size, part.addr)
		}
		*part.host = host
	}
	return nil, true, nil
}

// publish makes the served rings the device's queues and returns when no poll thread
// uses others. A peer that is dead has none.
func (p *peer) publish() {
	var rx []netdev.RxQueue
	var tx []netdev.TxQueue
	var fds []int
	link := false
	running := func(i int) bool { r := p.rings[i]; return r != nil && r.state == vhostuser.Running }
	if !p.dead.Load() {
		for _, i := range slices.Sorted(maps.Keys(p.rings)) {
			if r := p.rings[i]; r.rx != nil {
				rx = append(rx, r.rx)
			} else if r.tx != nil {
				tx = append(tx, r.out)
			}
			link = link || i%2 == 0 && running(i) && running(i+1)
			for _, fd := range []int{p.rings[i].kick.Num, p.rings[i].call} {
				if fd >= 0 {
					fds = append(fds, fd)
				}
			}
		}
	}
	d := p.d
	d.mu.Lock()
	if p.dead.Load() { // it died meanwhile, and Fault has said so already
		rx, tx, link = nil, nil, false
	}
	was := d.link
	p.linkUp = link
	if p.busy && was && !p.dead.Load() {
		link = true // see linkSettles
	}
	d.rx, d.tx, d.link = rx, tx, link
	d.guarded = append(slices.Clip(d.guarded), fds...)
	if len(rx)+len(tx) > 0 {
		d.fault = ""
	}
	d.mu.Unlock()
	if link != was {
		d.info("link", "up", link, "rx_queues", len(rx), "tx_queues", len(tx))
	}
	d.changed()
	d.mu.Lock()
	d.guarded = fds
	d.mu.Unlock()
	for _, fd := range p.owed {
		if slices.Contains(fds, fd) {
			notify(fd)
		}
	}
	p.owed = p.owed[:0]
}

// linkSettles is for a message that may stop rings and start them anew: the link is down only if it
// is when the message is done. p.mu is held.
func (p *peer) linkSettles(f func()) {
	p.busy = true
	f()
	p.busy = false
	d := p.d
	d.mu.Lock()
	down := d.link && !p.linkUp
	d.link = d.link && p.linkUp
	rx, tx := len(d.rx), len(d.tx)
	d.mu.Unlock()
	if down {
		d.info("link", "up", false, "rx_queues", rx, "tx_queues", tx)
		d.changed()
	}
}

// watch writes, now and then, what savePin has put off, and looks whether a guest that rings its bell also puts something
// into its ring. If not, it has another memory than the one it gave us.
func (p *peer) watch() {
	for p.d.pauseOr(p.done, watchEvery) {
		p.d.savePin()
		if p.d.notShared(p) {
			p.d.log.Warn("guest memory seems not to be shared", "hint", notSharedHint)
		}
	}
}
