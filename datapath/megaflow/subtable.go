package megaflow

import (
	"math/bits"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/flow"
)

// subtable is the megaflows of one mask: a hash table that grows by one bucket at a time
// (linear hashing), so no insertion takes long. Buckets i < 2^level, and
// those whose twin i + 2^level exists, are told apart by level+1 bits of the hash, the others
// by level bits.
//
// The buckets are in segments that never move: the first has firstBuckets, each other one as
// many as all before it.
//
// What the signature cache needs of a subtable is its line in Table.descs:
//
//	0      byte offsets in the key of the first seven words; byte 7: how many words the mask has
//	8      their masks; what is not used compares word 0 under mask 0
type subtable struct {
	id      uint16
	n       int                      // words that the mask has bits in
	class   int                      // of its megaflows
	count   int                      // megaflows
	buckets uint64                   // in use
	high    uint64                   // 2^(level+1) - 1
	segs    [segments]uintptr        // where bucket 0 would be if the segment began there
	first   Ref                      // block of the first segment
	words   [flow.PacketWords]uint8  // which words
	mask    [flow.PacketWords]uint64 // the mask
	state   atomic.Uint64            // odd while in use; for Subtables
	entries atomic.Uint64            // count, for Subtables
}

const (
	firstBuckets = 64
	firstBits    = 6
	segments     = 32
	// inLine is how many words of a megaflow are in its first line.
	inLine = 7
	// fill is how many megaflows a bucket has on average before there is another bucket.
	fill = 4
)

// bucket is the one that hash h belongs to.
func (s *subtable) bucket(h uint64) uintptr {
	i := h & s.high
	// Not a branch, which would be taken by chance.
	j := i & (s.high >> 1)
	if i < s.buckets {
		j = i
	}
	return s.at(j)
}

// at is the address of bucket i.
func (s *subtable) at(i uint64) uintptr {
	return s.segs[segmentOf(i)] + uintptr(i)*lineBytes
}

// segmentOf is the segment of bucket i; the first is number 1.
func segmentOf(i uint64) int {
	// With a bit below, so that it needs no case for 0.
	return bits.Len64(i>>(firstBits-1)|1) & (segments - 1)
}

// open makes subtable id of t ready for megaflows under mask, of which only
// the packet words count. It fails if there is no memory.
func (t *Table) open(id uint16, mask *flow.Key) bool {
	s := &t.subs[id]
	first := t.take(classFirst)
	if first == 0 {
		return false
	}
	s.id, s.first = id, first
	s.segs = [segments]uintptr{1: t.addr(first)}
	s.buckets, s.high, s.count, s.n = 1, 1, 0, 0
	empty(s.at(0))
	for i, m := range mask[:flow.PacketWords] {
		atomic.StoreUint64(&s.mask[i], m)
		if m != 0 {
			s.words[s.n] = uint8(i)
			s.n++
		}
	}
	s.class = (8 + 8*s.n + statsBytes + lineBytes - 1) / lineBytes
	d := t.descs + uintptr(id)*lineBytes
	empty(d)
	offsets := uint64(s.n) << 56
	for i, w := range s.words[:min(s.n, inLine)] {
		offsets |= uint64(w) * 8 << (8 * i)
		store64(d+8+uintptr(i)*8, mask[w])
	}
	store64(d, offsets)
	s.entries.Store(0)
	s.state.Add(1)
	t.order = append(t.order, id)
	move(&t.stat.masks, uint64(len(t.order)))
	return true
}

// shut undoes open when there are no megaflows any more.
func (t *Table) shut(id uint16) {
	s := &t.subs[id]
	s.state.Add(1)
	t.extra -= s.release()
	t.give(classFirst, s.first)
	for i, o := range t.order {
		if o == id {
			t.order = append(t.order[:i], t.order[i+1:]...)
			break
		}
	}
	t.adapt.forget(id, &t.hits[id])
	move(&t.stat.masks, uint64(len(t.order)))
}

// release gives the segments back, but the first, and says how much that was.
func (s *subtable) release() (bytes uint64) {
	for i := 2; i < segments && s.segs[i] != 0; i++ {
		release(s.segs[i]+segmentStart(i), int(segmentStart(i)))
		s.segs[i] = 0
		bytes += uint64(segmentStart(i))
	}
	return bytes
}

// segmentStart is how many bytes of buckets there are before segment i > 1, and in it.
func segmentStart(i int) uintptr { return firstBuckets * lineBytes << (i - 2) }

// same tells whether s is for mask.
func (s *subtable) same(mask *flow.Key) bool {
	return s.mask == *(*[flow.PacketWords]uint64)(mask[:flow.PacketWords])
}
