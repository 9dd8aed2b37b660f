package rules

import "sync/atomic"

// segSlots is the size to which a segment grows before it is split. It bounds how long
// a writer is busy with one change.
const segSlots = 256

// Tags that are none.
const (
	empty     = 0
	tombstone = 1
)

// dict maps tags, hashes of 32 bits, to chains of rules; a dict without rules only
// counts how often each tag is in it. It is an extendible hash table: the first bits of a tag choose a
// segment by way of a directory, the last ones a place in it. Readers need no lock: tags
// and heads are atomic, and a segment or directory that is outgrown is left as it was to
// those who are still reading in it. The zero value is an empty dict.
type dict struct {
	dir   atomic.Pointer[directory]
	rules bool // has chains
}

type directory struct {
	segs  []atomic.Pointer[segment]
	shift uint8 // tag >> shift is the index
}

// segment is an open-addressing table with linear probing.
type segment struct {
	tags   []atomic.Uint32
	heads  []atomic.Pointer[Rule] // of a dict with rules
	counts []uint32               // of one without; writers only
	used   int                    // slots that are not empty; writers only
	live   int                    // slots with a tag; writers only
	depth  uint8                  // how many first bits of their tags are equal
}

func (d *dict) seg(tag uint32) *segment {
	dir := d.dir.Load()
	if dir == nil {
		return nil
	}
	return dir.segs[uint64(tag)>>dir.shift].Load()
}

// slot finds the place of a tag, -1: it is not there.
func (s *segment) slot(tag uint32) int {
	m := uint32(len(s.tags) - 1)
	for i := tag & m; ; i = (i + 1) & m {
		switch s.tags[i].Load() {
		case tag:
			return int(i)
		case empty:
			return -1
		}
	}
}

// has tells whether a tag is in d.
func (d *dict) has(tag uint32) bool {
	s := d.seg(tag)
	return s != nil && s.slot(tag) >= 0
}

// head is the first rule of a tag's chain.
func (d *dict) head(tag uint32) *Rule {
	if s := d.seg(tag); s != nil {
		if i := s.slot(tag); i >= 0 {
			return s.heads[i].Load()
		}
	}
	return nil
}

func (d *dict) newSegment(slots int, depth uint8) *segment {
	s := &segment{tags: make([]atomic.Uint32, slots), depth: depth}
	if d.rules {
		s.heads = make([]atomic.Pointer[Rule], slots)
	} else {
		s.counts = make([]uint32, slots)
	}
	return s
}

// insert finds a place for a tag, which is new if its head is nil or its count 0. The caller fills it,
// then calls show.
func (d *dict) insert(tag uint32) (*segment, int) {
	if d.dir.Load() == nil {
		dir := &directory{segs: make([]atomic.Pointer[segment], 1), shift: 32}
		dir.segs[0].Store(d.newSegment(4, 0))
		d.dir.Store(dir)
	}
	for {
		s := d.seg(tag)
		m := uint32(len(s.tags) - 1)
		free := -1
		for i := tag & m; ; i = (i + 1) & m {
			t := s.tags[i].Load()
			if t == tag {
				return s, int(i)
			}
			if t == tombstone && free < 0 {
				free = int(i)
			}
			if t != empty {
				continue
			}
			if free >= 0 {
				return s, free
			}
			if s.used+1 > len(s.tags)*3/4 {
				break
			}
			return s, int(i)
		}
		d.grow(s, tag)
	}
}

// show makes a slot that insert found visible.
func (s *segment) show(i int, tag uint32) {
	switch s.tags[i].Load() {
	case tag:
		return
	case empty:
		s.used++
	}
	s.live++
	s.tags[i].Store(tag)
}

// hide takes the tag out of a slot.
func (s *segment) hide(i int) {
	s.tags[i].Store(tombstone)
	s.live--
}

// grow makes room in the segment of a tag: without the tombstones, or larger, or split.
func (d *dict) grow(s *segment, tag uint32) {
	slots := len(s.tags)
	switch {
	case s.live < slots*3/8: // tombstones
	case slots < segSlots:
		slots *= 2
	default:
		d.split(s, tag)
		return
	}
	n := d.newSegment(slots, s.depth)
	s.moveTo(n, n)
	d.put(n, tag)
}

// split puts two segments in the place of one.
func (d *dict) split(s *segment, tag uint32) {
	dir := d.dir.Load()
	if 32-dir.shift == s.depth {
		dir = dir.double()
		d.dir.Store(dir)
	}
	zero, one := d.newSegment(segSlots, s.depth+1), d.newSegment(segSlots, s.depth+1)
	s.moveTo(zero, one)
	bit := uint32(1) << (31 - s.depth)
	d.put(zero, tag&^bit)
	d.put(one, tag|bit)
}

// put makes s the segment of all tags that begin as tag does.
func (d *dict) put(s *segment, tag uint32) {
	dir := d.dir.Load()
	n := 1 << (32 - dir.shift - s.depth)
	first := int(uint64(tag)>>dir.shift) &^ (n - 1)
	for i := range dir.segs[first : first+n] {
		dir.segs[first+i].Store(s)
	}
}

// double is the same directory with twice the entries.
func (d *directory) double() *directory {
	n := &directory{segs: make([]atomic.Pointer[segment], 2*len(d.segs)), shift: d.shift - 1}
	for i := range d.segs {
		s := d.segs[i].Load()
		n.segs[2*i].Store(s)
		n.segs[2*i+1].Store(s)
	}
	return n
}

// moveTo copies what is in s to two others (or the same twice), by the first bit that their
// tags do not have in common.
func (s *segment) moveTo(zero, one *segment) {
	for i := range s.tags {
		t := s.tags[i].Load()
		if t <= tombstone {
			continue
		}
		to := zero
		if t<<s.depth>>31 != 0 {
			to = one
		}
		m := uint32(len(to.tags) - 1)
		j := t & m
		for to.tags[j].Load() != empty {
			j = (j + 1) & m
		}
		if s.heads != nil {
			to.heads[j].Store(s.heads[i].Load())
		} else {
			to.counts[j] = s.counts[i]
		}
		to.show(int(j), t)
	}
}

// count adds a tag to a dict without rules.
func (d *dict) count(tag uint32) {
	s, i := d.insert(tag)
	if s.tags[i].Load() != tag {
		s.counts[i] = 0
	}
	s.counts[i]++
	s.show(i, tag)
}

// uncount takes it back.
func (d *dict) uncount(tag uint32) {
	s := d.seg(tag)
	i := s.slot(tag)
	if s.counts[i]--; s.counts[i] == 0 {
		s.hide(i)
	}
}

// add puts a rule into its tag's chain: by descending priority, and the newest of a priority first.
func (d *dict) add(tag uint32, r *Rule) {
	s, i := d.insert(tag)
	if s.tags[i].Load() != tag {
		s.heads[i].Store(nil)
	}
	at := &s.heads[i]
	for n := at.Load(); n != nil && n.Priority > r.Priority; n = at.Load() {
		at = &n.next
	}
	r.next.Store(at.Load())
	at.Store(r)
	s.show(i, tag)
}

// remove takes a rule out of its chain. The rule still leads those who stand on it to the next one.
func (d *dict) remove(tag uint32, r *Rule) {
	s := d.seg(tag)
	i := s.slot(tag)
	at := &s.heads[i]
	for n := at.Load(); n != r; n = at.Load() {
		at = &n.next
	}
	at.Store(r.next.Load())
	if s.heads[i].Load() == nil {
		s.hide(i)
	}
}

// each calls f for all rules, some of them perhaps twice when there are writers, until it
// says false.
func (d *dict) each(f func(*Rule) bool) bool {
	dir := d.dir.Load()
	if dir == nil {
		return true
	}
	var last *segment
	for i := range dir.segs {
		s := dir.segs[i].Load()
		if s == last {
			continue
		}
		last = s
		for j := range s.heads {
			if s.tags[j].Load() <= tombstone {
				continue
			}
			for r := s.heads[j].Load(); r != nil; r = r.next.Load() {
				if !f(r) {
					return false
				}
			}
		}
	}
	return true
}
