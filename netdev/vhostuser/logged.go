package vhostuser

import (
	"fmt"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// SetLog implements vhostuser.Device. p.mu is held.
func (p *peer) SetLog(a vhostuser.LogArea, all bool) error {
	var l *vhostuser.DirtyLog
	if a.Size != 0 {
		var err error
		if l, err = vhostuser.MapLog(a); err != nil {
			return err
		}
	}
	if old := p.d.dirty.Swap(l); old != nil {
		old.Close()
	}
	if all {
		for _, r := range p.memory.Guest().Regions() {
			l.MarkAll(r.Guest, r.Size, p.dead.Load)
		}
	}
	return nil
}

// loggedRing marks in the dirty log what is written to the guest's memory through a
// ring: buffers by what Use is told, and whatever the ring itself has of the
// device's. It marks more of the latter than is written, which costs the front end a page or two and
// spares knowing each kind of ring.
//
// While nobody migrates there is none of these, so this need not be fast.
type loggedRing struct {
	virtio.Ring
	held    *virtio.Batch
	log     *vhostuser.DirtyLog
	regions []mem.Region
	region  mem.Region // hit last
	buffers bool       // to be marked
	parts   []part     // of the ring, to be marked
	beyond  func(guest uint64)
}

// part is a piece of the guest's memory.
type part struct{ guest, size uint64 }

// logged is vq with a loggedRing around it if the front end wants one. Only what was made around vq
// before may write to the guest's memory.
func (p *peer) logged(vq virtio.Ring, s *vhostuser.RingStart, c *virtio.Config) virtio.Ring {
	l := p.d.dirty.Load()
	if l == nil || s.Features&vhostuser.FeatureLogAll == 0 && !s.Vring.LogUsed {
		return vq
	}
	r := &loggedRing{
		Ring: vq, held: vq.Held(), log: l, regions: p.memory.Guest().Regions(),
		buffers: s.Features&vhostuser.FeatureLogAll != 0,
	}
	once := false
	r.beyond = func(guest uint64) {
		if once {
			return
		}
		once = true
		reason := fmt.Sprintf("guest memory at %#x was written to, and the front end's log of dirty pages ends before", guest)
		p.d.wg.Go(func() { p.d.stop(reason) })
	}
	if s.Vring.LogUsed {
		desc, _, used := virtio.Sizes(c.Features, c.Size)
		if c.Features&virtio.FAccessPlatform == 0 {
			r.parts = append(r.parts, part{s.Vring.LogAddr, uint64(used)})
		} else { // LogAddr is not the guest's physical address
			r.each(c.Used, uint64(used), func(g, n uint64) { r.parts = append(r.parts, part{g, n}) })
		}
		if c.Features&virtio.FRingPacked != 0 { // the device writes descriptors
			r.each(c.Desc, uint64(desc), func(g, n uint64) { r.parts = append(r.parts, part{g, n}) })
		}
	}
	r.ringWritten() // when vq was made
	return r
}

// Use implements virtio.Ring.
func (r *loggedRing) Use(n int) {
	if r.buffers {
		mem.Fence() // see DirtyLog.Mark
		for i := range r.held.Chains[:n] {
			if c := &r.held.Chains[i]; c.Written > 0 {
				r.chainWritten(c)
			}
		}
	}
	r.Ring.Use(n)
	if n > 0 {
		r.ringWritten()
	}
}

// Arm implements virtio.Ring.
func (r *loggedRing) Arm() (empty bool) {
	empty = r.Ring.Arm()
	r.ringWritten()
	return empty
}

// Disarm implements virtio.Ring.
func (r *loggedRing) Disarm() {
	r.Ring.Disarm()
	r.ringWritten()
}

func (r *loggedRing) ringWritten() {
	mem.Fence()
	for _, p := range r.parts {
		r.mark(p.guest, p.size)
	}
}

// chainWritten marks the segments of a chain as far as they were written to.
func (r *loggedRing) chainWritten(c *virtio.Chain) {
	left := uint64(c.Written)
	for _, s := range r.held.Segs[c.First:][:c.Count] {
		n := min(left, uint64(s.Len))
		if n == 0 {
			return
		}
		r.each(s.Addr, n, r.mark)
		left -= n
	}
}

// each calls f for the guest's addresses of n bytes here.
func (r *loggedRing) each(host uintptr, n uint64, f func(guest, n uint64)) {
	for n > 0 {
		off := uint64(host - r.region.Host)
		for i := 0; off >= r.region.Size; i++ {
			r.region = r.regions[i] // one has it: the addresses came from this table
			off = uint64(host - r.region.Host)
		}
		k := min(n, r.region.Size-off)
		f(r.region.Guest+off, k)
		host, n = host+uintptr(k), n-k
	}
}

func (r *loggedRing) mark(guest, n uint64) {
	if !r.log.Mark(guest, n) {
		r.beyond(guest)
	}
}
