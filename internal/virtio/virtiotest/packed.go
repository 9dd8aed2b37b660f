package virtiotest

import "github.com/gvswitch/gvswitch/internal/mem"

// Flags of packed descriptors and of event suppression (virtio 1.2, sections 2.8.1 and 2.8.10), and
// where a wrap counter stands beside an index.
const (
	AvailBit uint16 = 1 << 7
	UsedBit  uint16 = 1 << 15

	EventsEnable  uint16 = 0
	EventsDisable uint16 = 1
	EventsDesc    uint16 = 2

	wrapBit = 1 << 15
)

// packed is what a driver knows of a packed ring beyond what Ring has.
type packed struct {
	free    int     // descriptors
	avail   spot    // the next to make available
	used    spot    // where the next used one will be
	kicked  int     // descriptors made available since the last look at the device's event area
	pending []ready // heads that are not published yet
}

// spot is a position and the wrap counter there.
type spot struct {
	at   int
	wrap bool
}

type ready struct {
	at        int
	id, flags uint16
}

func (s *spot) step(n, size int) {
	for s.at += n; s.at >= size; s.at -= size {
		s.wrap = !s.wrap
	}
}

// Word is the position as the event areas have it, and SET_VRING_BASE.
func (s spot) word() uint16 {
	if s.wrap {
		return uint16(s.at) | wrapBit
	}
	return uint16(s.at)
}

// AvailFlags are the two bits of a descriptor that is available in a round with that wrap counter.
func AvailFlags(wrap bool) uint16 {
	if wrap {
		return AvailBit
	}
	return UsedBit
}

func usedFlags(wrap bool) uint16 {
	if wrap {
		return AvailBit | UsedBit
	}
	return 0
}

// reset makes the ring look as if all descriptors had been used up to a position.
func (p *packed) reset(r *Ring, position uint16) {
	at := spot{int(position &^ wrapBit), position&wrapBit != 0}
	*p = packed{free: r.Size, avail: at, used: at}
	for i := range r.Size {
		r.RawPacked(i, 0, 0, 0, usedFlags(at.wrap == (i < at.at)))
	}
	mem.Store32Release(r.addr(r.Avail, 4), 0)
	mem.Store32Release(r.addr(r.Used, 4), 0)
}

// RawPacked writes descriptor i of a packed ring, whatever it may mean, its flags last.
func (r *Ring) RawPacked(i int, addr uint64, n uint32, id, flags uint16) {
	a := r.addr(r.Desc+uint64(i*descSize), descSize)
	mem.Store64(a, addr)
	mem.Store32(a+8, n)
	mem.Store32Release(a+12, uint32(id)|uint32(flags)<<16)
}

// Advance goes on behind n descriptors of a packed ring that were made available raw.
func (r *Ring) Advance(n int) { r.packed.avail.step(n, r.Size) }

// TakeRaw takes the next used entry, of a chain that was laid out raw and takes that many
// descriptors of a packed ring.
func (r *Ring) TakeRaw(slots int) (id uint16, n uint32, ok bool) {
	head, n, ok := r.entry()
	if ok {
		r.skip(make([]uint16, slots))
	}
	return uint16(head), n, ok
}

// Position is where the next chain of a packed ring goes: index and wrap counter.
func (r *Ring) Position() (at int, wrap bool) { return r.packed.avail.at, r.packed.avail.wrap }

// add lays a chain out (virtio 1.2, section 2.8.6 on chains, 2.8.7 on tables) and returns its name.
func (p *packed) add(r *Ring, direct, table []Elem, at uint64) uint16 {
	id := uint16(p.avail.at)
	if r.InOrder {
		// What drivers do: a buffer is named by where it begins.
		r.free = without(r.free, id)
	} else {
		id = r.take(1)[0]
	}
	all := direct
	if table != nil {
		for i, e := range table {
			PutDesc(r.Mem.At(at+uint64(i*descSize), descSize), e.Addr, e.Len, 0, elemFlags(e))
		}
		all = append(append([]Elem(nil), direct...), Elem{Addr: at, Len: uint32(len(table) * descSize)})
	}
	for i, e := range all {
		flags := elemFlags(e) | AvailFlags(p.avail.wrap)
		if i+1 < len(all) {
			flags |= Next
		}
		if table != nil && i+1 == len(all) {
			flags |= Indirect
		}
		if i == 0 {
			// The rest of the chain comes first (virtio 1.2, section 2.8.21.1).
			a := r.addr(r.Desc+uint64(p.avail.at*descSize), descSize)
			mem.Store64(a, e.Addr)
			mem.Store32(a+8, e.Len)
			p.pending = append(p.pending, ready{p.avail.at, id, flags})
		} else {
			r.RawPacked(p.avail.at, e.Addr, e.Len, id, flags)
		}
		p.avail.step(1, r.Size)
	}
	p.free -= len(all)
	r.chains[id] = make([]uint16, len(all))
	r.order = append(r.order, id)
	return id
}

func without(ids []uint16, id uint16) []uint16 {
	for i, x := range ids {
		if x == id {
			return append(ids[:i], ids[i+1:]...)
		}
	}
	return ids
}

// publish makes all chains that were added available at once: the first one last.
func (p *packed) publish(r *Ring) {
	for i := len(p.pending) - 1; i >= 0; i-- {
		x := p.pending[i]
		mem.Store32Release(r.addr(r.Desc+uint64(x.at*descSize)+12, 4), uint32(x.id)|uint32(x.flags)<<16)
		p.kicked += max(1, len(r.chains[x.id]))
	}
	p.pending = p.pending[:0]
}

// needKick: see Ring.NeedKick, and virtio 1.2, section 2.8.21.3.1.
func (p *packed) needKick(r *Ring) bool {
	news := p.kicked
	p.kicked = 0
	off, flags := r.DeviceEvent()
	switch {
	case news == 0 || flags == EventsDisable:
		return false
	case flags != EventsDesc || !r.EventIdx:
		return true
	}
	// Was one of the last descriptors the one that is named?
	s := p.avail
	for range min(news, r.Size) {
		if s.at--; s.at < 0 {
			s = spot{r.Size - 1, !s.wrap}
		}
		if s.word() == off {
			return true
		}
	}
	return false
}

// entry is the used descriptor that stands where one is expected. Its length means something only
// if something was written (virtio 1.2, section 2.8.5).
func (p *packed) entry(r *Ring) (id, n uint32, ok bool) {
	b := r.Desc + uint64(p.used.at*descSize)
	flags := mem.Load16Acquire(r.addr(b+14, 2))
	if flags&(AvailBit|UsedBit) != usedFlags(p.used.wrap) {
		return 0, 0, false
	}
	if flags&Write != 0 {
		n = mem.Load32(r.addr(b+8, 4))
	}
	return uint32(mem.Load16(r.addr(b+12, 2))), n, true
}

func (p *packed) skip(r *Ring, n int) {
	p.used.step(n, r.Size)
	p.free += n
}

// interrupts: see Ring.Interrupts.
func (p *packed) interrupts(r *Ring, on bool) {
	switch {
	case !on:
		r.RawDriverEvent(0, EventsDisable)
	case r.EventIdx:
		r.RawDriverEvent(p.used.word(), EventsDesc)
	default:
		r.RawDriverEvent(0, EventsEnable)
	}
}

// RawDriverEvent writes what the driver says about calls: at which descriptor, if flags say so.
func (r *Ring) RawDriverEvent(off, flags uint16) {
	mem.Store32Release(r.addr(r.Avail, 4), uint32(off)|uint32(flags)<<16)
}

// DeviceEvent is what the device says about kicks.
func (r *Ring) DeviceEvent() (off, flags uint16) {
	flags = mem.Load16Acquire(r.addr(r.Used+2, 2))
	return mem.Load16Acquire(r.addr(r.Used, 2)), flags
}
