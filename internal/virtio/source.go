package virtio

import "github.com/gvswitch/gvswitch/internal/mem"

// source is what rings of all kinds need to read chains: the driver's memory, the limits, and
// the batch that the chains go to.
type source struct {
	mem, tables *mem.Map
	region      mem.Region // the region of mem hit last
	size        uint32     // entries of the ring
	wantFlags   uint16     // of a plain descriptor in the right direction, noFlags in a mixed ring
	indirect    bool
	mixed       bool   // as Config.Mixed
	direction   uint16 // the WRITE flag that the next element of the chain in work must have
	Batch
}

func newSource(c *Config) source {
	s := source{
		mem: c.Mem, tables: c.Tables, size: uint32(c.Size), indirect: c.Features&FIndirectDesc != 0, mixed: c.Mixed,
		Batch: Batch{Segs: make([]Seg, c.Size+spareSegs)},
	}
	switch {
	case c.Mixed:
		s.wantFlags = noFlags
	case c.DeviceWrites:
		s.wantFlags = descWrite
	}
	if s.tables == nil {
		s.tables = c.Mem
	}
	return s
}

// Held implements Ring.
func (s *source) Held() *Batch { return &s.Batch }

// Remap implements Ring.
func (s *source) Remap(buffers, tables *mem.Map) {
	s.mem, s.tables, s.region = buffers, tables, mem.Region{}
}

// begin begins a chain, of which First is set.
func (s *source) begin() {
	s.direction = s.wantFlags
	if s.mixed {
		s.direction = 0
	}
}

// element adds a buffer to the chain.
func (s *source) element(c *Chain, addr uint64, n uint32, flags uint16) Fault {
	if flags&descWrite != s.direction {
		if !s.mixed || s.direction != 0 {
			return BadChain
		}
		// Here what the device writes begins.
		s.direction, c.Reads = descWrite, uint16(s.nsegs-int(c.First))
	}
	return s.add(addr, n)
}

// end ends the chain, of that many bytes.
func (s *source) end(c *Chain, total uint64) {
	if total == 0 || total > 1<<31 {
		s.bad(c, BadChain)
		return
	}
	c.Count, c.Len = uint16(s.nsegs-int(c.First)), uint32(total)
	if s.mixed && s.direction == 0 {
		c.Reads = c.Count
	}
}

// bad ends the chain with nothing in it.
func (s *source) bad(c *Chain, why Fault) {
	s.nsegs = int(c.First)
	c.Fault, c.Count, c.Len, c.Reads = why, 0, 0, 0
}

// table is the host address of an indirect table of n bytes. It must lie in one
// region, and hold between one entry and as many as the ring.
func (s *source) table(addr uint64, n uint32) (uintptr, Fault) {
	if n == 0 || n%16 != 0 || n/16 > s.size {
		return 0, BadChain
	}
	if t, ok := s.tables.Translate(addr, uint64(n)); ok {
		return t, OK
	}
	gap := s.tables.Gap(addr, uint64(n))
	if gap == addr+uint64(n) {
		return 0, BadChain // all there, but in several pieces
	}
	s.Missed[s.n] = gap
	return 0, BadTable
}

// add translates a buffer, which may run through regions that are adjacent for the
// driver but not here, and appends its pieces. A chain of more pieces than there is room for is of no use
// to anybody.
func (s *source) add(addr uint64, n uint32) Fault {
	for n > 0 {
		r := s.region
		if addr-r.Guest >= r.Size {
			if r = s.mem.Find(addr); r.Size == 0 {
				s.Missed[s.n] = addr
				return BadAddress
			}
			s.region = r
		}
		off := addr - r.Guest
		k := uint32(min(uint64(n), r.Size-off))
		if s.nsegs >= len(s.Segs) {
			return BadChain
		}
		s.Segs[s.nsegs] = Seg{r.Host + uintptr(off), k}
		s.nsegs++
		addr += uint64(k)
		n -= k
	}
	return OK
}
