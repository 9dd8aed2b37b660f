package megaflow

import "github.com/gvswitch/gvswitch/internal/mem"

// Stats are the statistics of a megaflow. The owner writes them; Packets and Bytes anybody may read.
type Stats struct {
	Packets mem.Counter
	Bytes   mem.Counter
	// Used is when the last packet came, in the unit and with the zero of the owner's clock; it
	// may wrap.
	Used uint32
	// TCPFlags are the flags of all its packets.
	TCPFlags uint16
	_        uint16
}

// statsBytes is the size of Stats.
const statsBytes = 24

// Counters are a table's statistics since New.
type Counters struct {
	Lookups    uint64 // keys looked up
	CacheHits  uint64 // found by the signature cache
	MaskHits   uint64 // found by a subtable
	Misses     uint64 // not found
	Probes     uint64 // subtables asked, for hits and misses
	Entries    uint64 // megaflows now
	Masks      uint64 // subtables now
	Overflows  uint64 // megaflows made exact because there were too many masks
	CacheSlots uint64 // size of the signature cache now; 0: bypassed
	Memory     uint64 // bytes in use or kept for reuse
}

// counters are what Counters are read from.
type counters struct {
	lookups, cacheHits, misses, probes, overflows mem.Counter
	entries, masks, cacheSlots, memory            mem.Counter
}

// move makes c, a value and not a sum, to.
func move(c *mem.Counter, to uint64) { c.Add(to - c.Load()) }

// Counters may be called from any goroutine.
func (t *Table) Counters() Counters {
	c := &t.stat
	r := Counters{
		Misses:     c.misses.Load(),
		CacheHits:  c.cacheHits.Load(),
		Lookups:    c.lookups.Load(),
		Probes:     c.probes.Load(),
		Entries:    c.entries.Load(),
		Masks:      c.masks.Load(),
		Overflows:  c.overflows.Load(),
		CacheSlots: c.cacheSlots.Load(),
		Memory:     c.memory.Load(),
	}
	// The owner may be at work: never a negative number.
	r.MaskHits = r.Lookups - min(r.Lookups, r.CacheHits+r.Misses)
	return r
}

// Touch counts packets with so many bytes and TCP flags together, the last one at now.
func (s *Stats) Touch(packets, bytes uint64, now uint32, flags uint16) {
	s.Packets.Add(packets)
	s.Bytes.Add(bytes)
	s.Used = now
	s.TCPFlags |= flags
}
