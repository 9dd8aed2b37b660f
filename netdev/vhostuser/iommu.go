package vhostuser

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

const (
	maxRefused = 64
	// refusedFor is how long a denial is believed: a guest that maps a page does not say so.
	refusedFor = 50 * time.Millisecond
	// mapCost bounds, for each piece in it, how often a new map is made for updates: a front end could
	// make the switch collect garbage all day.
	mapCost = time.Microsecond
	// settleFor is how long the end of a burst is waited for before all poll threads are.
	settleFor = 10 * time.Millisecond
)

// iommu is the translation of a guest's addresses, as far as its front end has told it (option
// vhost-iommu-support). Rings read maps alone; all else belongs to who holds p.mu.
type iommu struct {
	maps atomic.Pointer[ioMaps]
	news chan struct{} // somebody misses something

	tlb     vhostuser.IOTLB
	views   map[vhostuser.Perm]*mem.Map // of tlb as it is, those that were asked for
	refused []denial
	stale   bool      // maps is not what tlb says
	next    time.Time // when maps may be replaced again

	asking asking
	counts struct{ entries, asked, refused atomic.Int64 }
}

type denial struct {
	want  want
	until time.Time
}

func newIOMMU() *iommu {
	io := &iommu{news: make(chan struct{}, 1)}
	none, _ := mem.NewMap(nil)
	io.maps.Store(&ioMaps{read: none, write: none})
	return io
}

// view is what may be done that with.
func (io *iommu) view(perm vhostuser.Perm) *mem.Map {
	m := io.views[perm]
	if m == nil {
		if io.views == nil {
			io.views = map[vhostuser.Perm]*mem.Map{}
		}
		m = io.tlb.Map(perm)
		io.views[perm] = m
	}
	return m
}

// changed notes that the table did.
func (io *iommu) changed() { io.views, io.stale = nil, true }

// poke makes translate look.
func (io *iommu) poke() {
	select {
	case io.news <- struct{}{}:
	default:
	}
}

// status tells about it.
func (io *iommu) status(s map[string]string) {
	s["iotlb-entries"] = strconv.FormatInt(io.counts.entries.Load(), 10)
	s["iotlb-misses"] = strconv.FormatInt(io.counts.asked.Load(), 10)
	s["iotlb-refused"] = strconv.FormatInt(io.counts.refused.Load(), 10)
}

// IOTLB implements vhostuser.Device.
func (p *peer) IOTLB(m vhostuser.IOTLBMsg) error {
	io := p.iommu
	if m.Type == vhostuser.IOTLBInvalidate {
		p.invalidate(m.IOVA, m.Size)
		return nil
	}
	host, ok := p.memory.User().Translate(m.User, m.Size)
	if !ok {
		return fmt.Errorf("%#x bytes at %#x of the front end are not in one memory region", m.Size, m.User)
	}
	io.tlb.Update(m.IOVA, m.Size, host, m.Perm)
	io.changed()
	last := m.IOVA + m.Size - 1
	io.refused = slices.DeleteFunc(io.refused, func(r denial) bool { return r.want.page() >= m.IOVA && r.want.page() <= last })
	for _, w := range io.asking.answered(m.IOVA, last) {
		if w.perm()&^m.Perm != 0 {
			io.refuse(w) // it is there, but not for that
		}
	}
	p.revive()
	p.refresh(false)
	return nil
}

// refuse notes that a page cannot be had.
func (io *iommu) refuse(w want) {
	io.counts.refused.Add(1)
	if len(io.refused) >= maxRefused {
		io.refused = slices.Delete(io.refused, 0, 1)
	}
	io.refused = append(io.refused, denial{w, time.Now().Add(refusedFor)})
	io.stale = true
}

// forget ends refusals whose time is over.
func (io *iommu) forget() {
	now := time.Now()
	n := len(io.refused)
	io.refused = slices.DeleteFunc(io.refused, func(r denial) bool { return now.After(r.until) })
	io.stale = io.stale || len(io.refused) != n
}

// refresh lets rings see what the table says: now, or when it is time for that.
func (p *peer) refresh(now bool) {
	io := p.iommu
	t := time.Now()
	if !io.stale {
		return
	}
	if !now && t.Before(io.next) {
		io.poke()
		return
	}
	m := &ioMaps{read: io.view(vhostuser.PermRead), write: io.view(vhostuser.PermWrite)}
	for _, r := range io.refused {
		m.refused = append(m.refused, r.want)
	}
	io.maps.Store(m)
	io.stale = false
	io.next = t.Add(time.Duration(io.tlb.Len()) * mapCost)
	io.counts.entries.Store(int64(io.tlb.Len()))
	for _, r := range p.rings {
		if r.io != nil && r.io.waits() {
			r.io.wake()
		}
	}
}

// invalidate takes translations back, and returns when nobody uses them.
func (p *peer) invalidate(iova, size uint64) {
	io := p.iommu
	last := iova + size - 1
	if size == 0 || last < iova {
		last = ^uint64(0)
	}
	for _, r := range p.rings {
		if r.io != nil && r.io.parts.overlap(iova, last) {
			r.io.paused.Store(true)
			io.poke()
		}
	}
	if io.tlb.Invalidate(iova, size) {
		io.changed()
	}
	soon := time.Until(io.next)
	p.refresh(true)
	p.settle()
	for _, r := range p.rings {
		if r.io != nil {
			r.io.scan()
		}
	}
	if soon > 0 {
		p.d.pause(soon)
	}
}

// flush forgets everything; no ring is served.
func (p *peer) flush() {
	if p.iommu != nil {
		p.iommu.tlb.Clear()
		p.iommu.changed()
		p.iommu.refused = nil
		p.refresh(true)
	}
}

// settle waits for the ends of the bursts that are under way. One that a fault ended never
// ends: then no poll thread is in it.
func (p *peer) settle() {
	start := time.Now()
	for _, r := range p.rings {
		if r.io == nil {
			continue
		}
		seq := r.io.seq.Load()
		for seq&1 != 0 && r.io.seq.Load() == seq {
			if time.Since(start) < settleFor {
				runtime.Gosched()
				continue
			}
			p.d.changed()
			r.io.seq.CompareAndSwap(seq, seq+1)
		}
	}
}

var errInPieces = errors.New("lies in several pieces of memory")

// locate finds the parts of a ring, or says what is missing to do so.
func (p *peer) locate(parts *ioParts) (at [3]uintptr, missing []want, err error) {
	for i := range parts {
		part := &parts[i]
		m := p.iommu.view(part.perm)
		host, ok := m.Translate(part.addr, part.size)
		if at[i] = host; ok {
			continue
		}
		end := part.addr + part.size
		for gap := m.Gap(part.addr, part.size); gap != end; {
			missing = append(missing, wanted(gap, part.perm))
			if gap = gap&pageMask + ^pageMask + 1; gap-part.addr >= part.size {
				break
			}
			gap = m.Gap(gap, end-gap)
		}
		if len(missing) == 0 {
			err = fmt.Errorf("%s of %d bytes at %#x %w", part.name, part.size, part.addr, errInPieces)
		}
	}
	return at, missing, err
}

// partsOf says where the parts of a ring are.
func (p *peer) partsOf(s *vhostuser.RingStart) (ioParts, error) {
	v := &s.Vring
	desc, avail, used := virtio.Sizes(s.Features, int(v.Num))
	const both = vhostuser.PermRead | vhostuser.PermWrite
	parts := ioParts{
		{"descriptor table", v.Desc, uint64(desc), vhostuser.PermRead},
		{"available ring", v.Avail, uint64(avail), vhostuser.PermRead},
		{"used ring", v.Used, uint64(used), both},
	}
	if s.Features&virtio.FRingPacked != 0 {
		parts[0].perm = both
	}
	for i := range parts {
		if x := &parts[i]; x.addr+x.size-1 < x.addr {
			return parts, fmt.Errorf("%s of %d bytes at %#x wraps", x.name, x.size, x.addr)
		}
	}
	if p.postcopy != nil {
		return parts, p.guestParts(&parts)
	}
	return parts, nil
}

// revive lets rings go on whose parts have come.
func (p *peer) revive() {
	built := false
	for i, r := range p.rings {
		var err error
		switch {
		case r.waiting != nil:
			var n *ring
			if n, err = p.build(r.waiting); err == nil && n.waiting == nil {
				p.rings[i], built = n, true
			}
		case r.io != nil && r.io.paused.Load():
			err = p.resume(i, r)
		}
		if err != nil {
			p.d.warn("ring waits", fmt.Errorf("vring %d: %w", i, err))
		}
	}
	if !built {
		return
	}
	p.publish()
	for _, r := range p.rings {
		if r.io != nil {
			r.io.scan()
		}
	}
}

// resume lets a ring go on if its parts are there, as another one if they have moved.
func (p *peer) resume(i int, r *ring) error {
	at, missing, err := p.locate(&r.io.parts)
	if err != nil || len(missing) > 0 {
		return err
	}
	if at == r.io.at {
		r.io.paused.Store(false)
		r.io.scan()
		r.io.wake()
		return nil
	}
	again := r.io.start
	again.Vring.Base = r.ring.Base()
	n, err := p.build(&again)
	if err != nil {
		return err
	}
	p.rings[i] = n
	p.publish()
	r.close()
	return nil
}

// translated finds the parts of a ring of a guest with an IOMMU.
func (p *peer) translated(s *vhostuser.RingStart, c *virtio.Config) (r *ioRing, there bool, err error) {
	parts, err := p.partsOf(s)
	if err != nil {
		return nil, false, err
	}
	at, missing, err := p.locate(&parts)
	if err != nil || len(missing) > 0 {
		p.iommu.poke()
		return nil, false, err
	}
	r = &ioRing{io: p.iommu, perm: vhostuser.PermRead, kick: -1, parts: parts, at: at, start: *s, cur: p.iommu.maps.Load()}
	if c.DeviceWrites || c.Mixed {
		r.perm = vhostuser.PermWrite
	}
	// Nobody sleeps for a receive ring, and what is written to its descriptor would look like the guest's: see notShared.
	if s.Vring.Kick.Kind == vhostuser.KindEventFD && (!c.DeviceWrites || c.Mixed) {
		r.kick = s.Vring.Kick.Num
	}
	c.Desc, c.Avail, c.Used = at[0], at[1], at[2]
	c.Mem, c.Tables = r.buffers(r.cur), r.cur.read
	return r, true, nil
}
