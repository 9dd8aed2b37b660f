package virtio

import "github.com/gvswitch/gvswitch/internal/mem"

// Gather implements Ring.
func (p *Packed) Gather(want int) int {
	want = min(want, MaxChains)
	ready := 0 // descriptors known to be available
	for p.n < want && p.nsegs < spareSegs {
		if ready <= 0 {
			if ready = p.ready(uint32(want - p.n)); ready == 0 {
				break
			}
		}
		ready -= p.walk(&p.Chains[p.n])
		p.n++
	}
	return p.n
}

// ready is how many descriptors are available from where the next one is taken, n at
// most; what lies behind their flags may be read then.
func (p *Packed) ready(n uint32) int {
	at := p.take
	if mem.Peek16(p.desc+16*uintptr(at.at)+14)&packedBits != at.flags {
		return 0
	}
	if n = min(n, p.size-p.taken); n == 0 {
		return 0 // what is taken cannot be available again
	}
	p.ahead(at.at, n)
	k := uint32(0)
	for k < n && mem.Peek16(p.desc+16*uintptr(at.at)+14)&packedBits == at.flags {
		k++
		at.step(1, p.size)
	}
	mem.Acquire()
	return int(k)
}

// ahead asks for the lines of n > 0 descriptors, all at once: to be written, as they will be
// when they are used.
func (p *Packed) ahead(at, n uint32) {
	k := min(n, p.size-at)
	d, first, rest := p.desc+16*uintptr(at), 16*int(k), 16*int(n-k)
	if p.readOnly {
		mem.PrefetchRange(d, first)
	} else {
		mem.PrefetchWriteRange(d, first)
	}
	if rest > 0 {
		if p.readOnly {
			mem.PrefetchRange(p.desc, rest)
		} else {
			mem.PrefetchWriteRange(p.desc, rest)
		}
	}
}

// walk reads the next chain into c and returns how many descriptors of the ring it takes. Common
// is one descriptor, in the region where the last one was.
func (p *Packed) walk(c *Chain) int {
	d := p.desc + 16*uintptr(p.take.at)
	addr, rest := mem.Load64(d), mem.Load64(d+8)
	c.Fault, c.First, c.Written = OK, uint32(p.nsegs), 0
	n := uint32(rest)
	off := addr - p.region.Guest
	if uint16(rest>>48)&^packedBits != p.wantFlags || off >= p.region.Size || uint64(n) > p.region.Size-off || n == 0 {
		return p.walkSlow(c, addr, rest)
	}
	p.Segs[p.nsegs] = Seg{p.region.Host + uintptr(off), n}
	p.nsegs++
	c.Head, c.Count, c.Slots, c.Len = uint16(rest>>32), 1, 1, n
	p.take.step(1, p.size)
	p.taken++
	return 1
}

// walkSlow follows a chain of any form whose first descriptor is given, to its end, whatever is
// wrong with it: the end names the buffer, and the next chain begins behind it. It takes at
// most as many steps as there are descriptors that are not taken.
func (p *Packed) walkSlow(c *Chain, addr, rest uint64) int {
	fault, total := OK, uint64(0)
	slots := uint32(1)
	p.begin()
	for ; ; slots++ {
		n, flags := uint32(rest), uint16(rest>>48)
		p.take.step(1, p.size)
		p.taken++
		switch {
		case fault != OK:
		case flags&descIndirect == 0:
			fault = p.element(c, addr, n, flags)
			total += uint64(n)
		case slots > 1 || flags&descNext != 0 || !p.indirect:
			// A table is the whole of a chain (virtio 1.2, section 2.8.19).
			fault = BadChain
		default:
			total, fault = p.walkTable(c, addr, n)
		}
		if flags&descNext == 0 {
			break
		}
		if p.taken >= p.size {
			fault = BadChain
			break
		}
		d := p.desc + 16*uintptr(p.take.at)
		addr, rest = mem.Load64(d), mem.Load64(d+8)
	}
	c.Head, c.Slots = uint16(rest>>32), uint16(slots)
	if fault != OK {
		p.bad(c, fault)
	} else {
		p.end(c, total)
	}
	return int(slots)
}

// walkTable adds the buffers of an indirect table of n bytes. They are its entries one after the
// other; of their flags WRITE alone means something (virtio 1.2, section 2.8.7), but
// one that says INDIRECT is refused. Nor does WRITE where all is to be read: DPDK's driver
// leaves it on the header's entry (to 22.11 at least).
func (p *Packed) walkTable(c *Chain, addr uint64, n uint32) (total uint64, _ Fault) {
	table, why := p.table(addr, n)
	if why != OK {
		return 0, why
	}
	for d := table; d < table+uintptr(n); d += 16 {
		addr, rest := mem.Load64(d), mem.Load64(d+8)
		flags := uint16(rest >> 48)
		if flags&descIndirect != 0 {
			return 0, BadChain
		}
		if p.wantFlags == 0 {
			flags &^= descWrite
		}
		if why := p.element(c, addr, uint32(rest), flags); why != OK {
			return 0, why
		}
		total += uint64(uint32(rest))
	}
	return total, OK
}
