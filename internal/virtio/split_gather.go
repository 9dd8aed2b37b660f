package virtio

import "github.com/gvswitch/gvswitch/internal/mem"

// Gather implements Ring.
func (s *Split) Gather(want int) int {
	want = min(want, MaxChains)
	if s.n >= want {
		return s.n
	}
	next := s.nextAvail + uint16(s.n)
	ready := int(s.availIdx - next)
	if ready < want-s.n {
		s.availIdx = mem.Load16Acquire(s.avail + 2)
		ready = int(s.availIdx - next)
		if ready > int(s.size) {
			// A ring cannot hold more than its size; whatever the driver
			// means, this bounds the work.
			ready = int(s.size)
			s.availIdx = next + uint16(ready)
		}
	}
	ready = min(ready, want-s.n)
	if ready > 0 {
		s.ahead(next, ready)
	}
	for range ready {
		if s.nsegs >= spareSegs {
			break // the next chain might not fit: it is the first of the next Gather
		}
		head := mem.Load16(s.avail + 4 + 2*uintptr(next&s.mask))
		s.walk(&s.Chains[s.n], head)
		s.n++
		next++
	}
	if s.n > 0 {
		c := &s.Chains[s.n-1]
		s.guess = (c.Head + max(c.Count, 1)) & s.mask
	}
	return s.n
}

// ahead asks for the lines of the ring that the next n chains take: what the driver
// has just written of them, and the used entries that it reads. All at
// once, and not one after the other as they lead to each other: so it goes by a guess
// which descriptor is next. Drivers mostly use them in order; where not, nothing but
// time is lost.
func (s *Split) ahead(next uint16, n int) {
	mem.PrefetchRange(s.avail+4+2*uintptr(next&s.mask), 2*n)
	mem.PrefetchRange(s.desc+16*uintptr(s.guess), 16*n)
	mem.PrefetchWriteRange(s.used+4+8*uintptr(s.usedIdx&s.mask), 8+s.entry*(n-1))
}

// walk reads the chain that begins with descriptor head into c. Common is one
// descriptor, in the region where the last one was.
func (s *Split) walk(c *Chain, head uint16) {
	c.Head, c.Fault, c.First, c.Written = head, OK, uint32(s.nsegs), 0
	if uint32(head) >= s.size {
		c.Fault, c.Count, c.Len = BadHead, 0, 0
		s.strays++
		return
	}
	d := s.desc + 16*uintptr(head)
	addr, rest := mem.Load64(d), mem.Load64(d+8)
	n := uint32(rest)
	if off := addr - s.region.Guest; uint16(rest>>32) == s.wantFlags && off < s.region.Size && uint64(n) <= s.region.Size-off && n != 0 {
		s.Segs[s.nsegs] = Seg{s.region.Host + uintptr(off), n}
		s.nsegs++
		c.Count, c.Len = 1, n
		return
	}
	s.walkSlow(c, addr, rest)
}

// walkSlow follows a chain of any form whose first descriptor is given. It takes at
// most as many steps as the ring, and an indirect table as many, as there are
// entries (virtio 1.2, section 2.7.5.3.1).
func (s *Split) walkSlow(c *Chain, addr, rest uint64) {
	table, entries := s.desc, s.size
	total := uint64(0)
	inTable := false
	s.begin()
	for steps := uint32(1); ; steps++ {
		n, flags, next := uint32(rest), uint16(rest>>32), uint16(rest>>48)
		if flags&descIndirect != 0 {
			// A table ends the direct part; its own descriptor's WRITE flag means
			// nothing, and NEXT with it is forbidden.
			if inTable || !s.indirect || flags&descNext != 0 {
				s.bad(c, BadChain)
				return
			}
			t, why := s.table(addr, n)
			if why != OK {
				s.bad(c, why)
				return
			}
			inTable, table, entries, steps = true, t, n/16, 0
			addr, rest = mem.Load64(table), mem.Load64(table+8)
			continue
		}
		if why := s.element(c, addr, n, flags); why != OK {
			s.bad(c, why)
			return
		}
		total += uint64(n)
		if flags&descNext == 0 {
			break
		}
		if uint32(next) >= entries || steps >= entries {
			s.bad(c, BadChain)
			return
		}
		d := table + 16*uintptr(next)
		addr, rest = mem.Load64(d), mem.Load64(d+8)
	}
	s.end(c, total)
}
