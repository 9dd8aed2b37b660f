package megaflow

import "github.com/gvswitch/gvswitch/internal/mem"

// moving is a slot of a bucket that is split.
type moving struct {
	ref  Ref
	addr uintptr
}

// link puts megaflow r with hash h into subtable s. It fails if there is no memory.
func (t *Table) link(s *subtable, h uint64, r Ref) bool {
	if !t.put(s.bucket(h), tagOf(h), r) {
		return false
	}
	s.count++
	s.entries.Store(uint64(s.count))
	if s.count > int(s.buckets)*fill {
		t.split(s)
	}
	return true
}

// put fills a free slot of bucket b or of those that it overflows into.
func (t *Table) put(b uintptr, tag uint64, r Ref) bool {
	for {
		if m := match(b, 0); m != 0 {
			set(b, refAt(b, m), tag, r)
			return true
		}
		next := Ref(load32(b + bucketNext))
		if next == 0 {
			if next = t.take(classBucket); next == 0 {
				return false
			}
			empty(t.addr(next))
			store32(b+bucketNext, uint32(next))
		}
		b = t.addr(next)
	}
}

// unlink takes megaflow r with hash h out of subtable s.
func (t *Table) unlink(s *subtable, h uint64, r Ref) {
	var prev uintptr
	for b := s.bucket(h); ; {
		for m := match(b, tagOf(h)); m != 0; m &= m - 1 {
			if ref := refAt(b, m); Ref(load32(ref)) == r {
				set(b, ref, 0, 0)
				if prev != 0 && load64(b) == 0 && load64(b+8) == 0 {
					gone := load32(prev + bucketNext)
					store32(prev+bucketNext, load32(b+bucketNext))
					t.give(classBucket, Ref(gone))
				}
				s.count--
				s.entries.Store(uint64(s.count))
				return
			}
		}
		next := Ref(load32(b + bucketNext))
		if next == 0 {
			panic("megaflow: a megaflow is not in its subtable")
		}
		prev, b = b, t.addr(next)
	}
}

// split adds a bucket to s and moves there what now belongs to it. If there
// is no memory, buckets get longer instead.
func (t *Table) split(s *subtable) {
	to := s.buckets
	if k := segmentOf(to); s.segs[k] == 0 {
		a := alloc(int(segmentStart(k)))
		if a == 0 {
			return
		}
		s.segs[k] = a - segmentStart(k)
		t.extra += uint64(segmentStart(k))
	}
	from := s.at(to & (s.high >> 1))
	t.drain(from)
	empty(s.at(to))
	if s.buckets++; s.buckets > s.high {
		s.high = s.high<<1 | 1
	}
	for i := range t.moving {
		v := &t.moving[i]
		h := t.hashEntry(s, v.addr)
		if !t.put(s.bucket(h), tagOf(h), v.ref) {
			panic("megaflow: a split needs no more buckets than were there")
		}
	}
}

// drain empties bucket b and those that it overflows into. What was in them is in t.moving,
// and its lines are on their way.
func (t *Table) drain(b uintptr) {
	t.moving = t.moving[:0]
	own := Ref(0) // of at, if it is not b
	for at := b; ; {
		n := 0
		for slot := uintptr(0); slot < bucketSlots; slot++ {
			if r := Ref(load32(at + bucketRefs + slot*4)); r != 0 {
				a := t.addr(r)
				t.moving = append(t.moving, moving{ref: r, addr: a})
				t.addrs[n] = a
				n++
			}
		}
		mem.Prefetch(t.addrs[:n])
		next := Ref(load32(at + bucketNext))
		empty(at)
		if own != 0 {
			t.give(classBucket, own)
		}
		if next == 0 {
			return
		}
		own, at = next, t.addr(next)
	}
}
