package vhostuser

import (
	"slices"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// pageMask cuts an address to a page, the piece that is asked for.
const pageMask = ^uint64(0xfff)

// want is a page that somebody misses, and in the lower bits what for. 0 is none.
type want uint64

func wanted(addr uint64, perm vhostuser.Perm) want { return want(addr&pageMask | uint64(perm)) }

func (w want) page() uint64         { return uint64(w) & pageMask }
func (w want) perm() vhostuser.Perm { return vhostuser.Perm(uint64(w) &^ pageMask) }

// ioMaps is what is translated at a time. It never changes.
type ioMaps struct {
	read, write *mem.Map
	refused     []want // that the front end knows nothing about
}

const (
	// wantsOfRing is how many pages a ring asks for at a time.
	wantsOfRing = 32
	// lookAhead is how many chains beyond what a burst takes are looked at, where a miss costs
	// a frame.
	lookAhead = 16
)

// ioRing is a ring of a guest with an IOMMU. A chain that misses a translation stays in the
// ring with all behind it, until the maps change. What a burst has in its hands was found in
// maps that were valid when it began; who takes a translation back replaces the maps and then
// waits until the burst is over, by seq.
//
// The poll thread's side calls Gather, Use, NeedNotify, Arm and Disarm, and never waits: while
// somebody else looks at the ring, which takes a moment, there is nothing in it. The others are for
// whoever holds p.mu.
type ioRing struct {
	inner virtio.Ring
	io    *iommu
	perm  vhostuser.Perm // what buffers are for
	kick  int            // eventfd that wakes whoever sleeps for the ring, or -1
	parts ioParts        // its own, in the guest's addresses
	at    [3]uintptr     // and here
	start vhostuser.RingStart

	cur  *ioMaps // that inner has
	said *ioMaps // what is missing in these was said
	good int     // chains of the burst that miss nothing

	burst  uint64                 // seq in the poll thread's burst
	seq    atomic.Uint64          // odd while somebody uses the ring
	paused atomic.Bool            // the ring's own parts are missing
	dry    atomic.Pointer[ioMaps] // with these there is nothing to be had
	misses [wantsOfRing]atomic.Uint64
}

// enter begins the use of the ring's memory, unless its parts are missing or somebody else is there.
func (r *ioRing) enter() bool {
	seq := r.seq.Load()
	if seq&1 != 0 || !r.seq.CompareAndSwap(seq, seq+1) {
		return false
	}
	if r.paused.Load() {
		r.leave()
		return false
	}
	return true
}

func (r *ioRing) leave() { r.seq.Add(1) }

// inBurst tells whether the poll thread is in a burst, which has not been declared over.
func (r *ioRing) inBurst() bool { return r.burst&1 != 0 && r.seq.Load() == r.burst }

// Held implements virtio.Ring.
func (r *ioRing) Held() *virtio.Batch { return r.inner.Held() }

// Base implements virtio.Ring.
func (r *ioRing) Base() uint32 { return r.inner.Base() }

// Empty implements virtio.Ring. Without its parts nobody knows.
func (r *ioRing) Empty() bool { return !r.paused.Load() && r.inner.Empty() }

// Remap implements virtio.Ring. The maps are the IOMMU's business.
func (r *ioRing) Remap(*mem.Map, *mem.Map) {}

// Gather implements virtio.Ring.
func (r *ioRing) Gather(want int) int {
	if !r.inBurst() {
		if r.dry.Load() == r.io.maps.Load() || !r.enter() {
			return 0
		}
		r.burst = r.seq.Load()
		r.renew()
	}
	n := r.inner.Gather(r.ahead(want))
	held := r.inner.Held()
	for r.good < n {
		if w := r.missing(held, r.good); w != 0 {
			r.say(held)
			n = r.good
			if n == 0 {
				r.dry.Store(r.cur)
			}
			break
		}
		r.good++
	}
	if n == 0 {
		r.inner.Use(0)
		r.leave()
	}
	return min(n, want)
}

func (r *ioRing) ahead(want int) int {
	if r.perm == vhostuser.PermWrite {
		return min(want+lookAhead, virtio.MaxChains)
	}
	return want
}

// renew takes the maps as they are now.
func (r *ioRing) renew() {
	r.good = 0
	r.dry.Store(nil)
	r.inner.Use(0) // of a burst that a fault ended
	m := r.io.maps.Load()
	if m == r.cur {
		return
	}
	r.inner.Remap(r.buffers(m), m.read)
	r.cur = m
	r.misses[0].Store(0)
}

// scan looks for what the ring will miss, before it does: a frame for a guest whose buffers have
// to be asked for is lost.
func (r *ioRing) scan() {
	if r.perm != vhostuser.PermWrite || !r.enter() {
		return
	}
	r.renew()
	held := r.inner.Held()
	for n := r.inner.Gather(virtio.MaxChains); r.good < n; r.good++ {
		if r.missing(held, r.good) != 0 {
			r.say(held)
			break
		}
	}
	r.inner.Use(0)
	r.leave()
}

// buffers is the map for addresses in descriptors.
func (r *ioRing) buffers(m *ioMaps) *mem.Map {
	if r.perm == vhostuser.PermWrite {
		return m.write
	}
	return m.read
}

// missing is what gathered chain i has to wait for. What the front end refused to translate is
// wrong for good, and goes back to the guest as what is nowhere does.
func (r *ioRing) missing(held *virtio.Batch, i int) want {
	var w want
	switch held.Chains[i].Fault {
	case virtio.BadAddress:
		w = wanted(held.Missed[i], r.perm)
	case virtio.BadTable:
		w = wanted(held.Missed[i], vhostuser.PermRead)
	default:
		return 0
	}
	if slices.Contains(r.cur.refused, w) {
		return 0
	}
	return w
}

// say says, once for the same maps, what chain good misses and those behind it.
func (r *ioRing) say(held *virtio.Batch) {
	if r.said == r.cur {
		return
	}
	r.said = r.cur
	n := r.inner.Gather(virtio.MaxChains)
	k := 0
	last := want(0)
	for i := r.good; i < n && k < len(r.misses); i++ {
		if w := r.missing(held, i); w != 0 && w != last {
			r.misses[k].Store(uint64(w))
			k++
			last = w
		}
	}
	r.io.poke()
}

// Use implements virtio.Ring.
func (r *ioRing) Use(n int) {
	if r.inBurst() {
		r.inner.Use(n)
		r.leave()
	}
}

// NeedNotify implements virtio.Ring. A driver that is told too often only looks in vain.
func (r *ioRing) NeedNotify() bool {
	if !r.enter() {
		return true
	}
	yes := r.inner.NeedNotify()
	r.leave()
	return yes
}

// Arm implements virtio.Ring: whoever waits for a translation may sleep if there is a way to wake
// it up.
func (r *ioRing) Arm() bool {
	if r.dry.Load() == r.io.maps.Load() {
		return r.kick >= 0
	}
	if !r.enter() {
		return r.paused.Load() && r.kick >= 0
	}
	empty := r.inner.Arm()
	r.leave()
	return empty
}

// Disarm implements virtio.Ring.
func (r *ioRing) Disarm() {
	if r.enter() {
		r.inner.Disarm()
		r.leave()
	}
}

// waits tells whether the ring may be waiting for other maps.
func (r *ioRing) waits() bool { return r.misses[0].Load() != 0 || r.paused.Load() }

// wake lets whoever sleeps for the ring look again.
func (r *ioRing) wake() {
	if r.kick >= 0 {
		notify(r.kick)
	}
}

// ioParts is where the three parts of a ring are in I/O virtual addresses.
type ioParts [3]struct {
	name       string
	addr, size uint64
	perm       vhostuser.Perm
}

// overlap tells whether a part has one of the addresses from first to last.
func (p *ioParts) overlap(first, last uint64) bool {
	for i := range p {
		if p[i].addr <= last && p[i].addr+p[i].size-1 >= first {
			return true
		}
	}
	return false
}
