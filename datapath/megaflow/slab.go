package megaflow

import "sync/atomic"

// Memory comes in lines of 64 bytes. A Ref is a line's number; chunks of 2 MB hold 32768 lines
// each, and each chunk holds blocks of one class. So the head of a block is the head of a
// block for ever, whatever stale references say, and a Ref is never read as something else.
// Chunks stay until the table is closed.
const (
	lineBytes  = 64
	chunkBits  = 15
	chunkLines = 1 << chunkBits
	chunkBytes = chunkLines * lineBytes
	maxChunks  = 4096
)

// The classes: megaflows of one to five lines, single buckets that others overflow into, and the first
// buckets of a subtable.
const (
	classBucket = 0
	classMost   = 5 // 1..classMost: that many lines of a megaflow
	classFirst  = 6
	classes     = 7
)

// The first buckets of subtables are some lines more than a power of two apart: else the first ones of
// all would compete for the same few sets of the cache.
var classLines = [classes]uint32{1, 1, 2, 3, 4, 5, firstBuckets + 5}

type slab struct {
	chunks [maxChunks]uintptr
	class  [maxChunks]uint8
	used   [maxChunks]atomic.Uint32 // lines given out so far
	n      atomic.Uint32            // chunks
	free   [classes]Ref             // lists of blocks
	bump   [classes]uint32          // the chunk, plus 1, that new blocks come from
	given  int                      // lines given out so far, whether free again or not
}

// addr is where line r is.
func (s *slab) addr(r Ref) uintptr {
	return s.chunks[r>>chunkBits&(maxChunks-1)] + uintptr(r&(chunkLines-1))*lineBytes
}

// take is a block of a class, as its last user left it, 0 if there is no memory. The first line of a free
// block's low half links the list.
func (s *slab) take(class int) Ref {
	if r := s.free[class]; r != 0 {
		s.free[class] = Ref(load32(s.addr(r)))
		return r
	}
	lines := classLines[class]
	c := s.bump[class]
	if c == 0 || s.used[c-1].Load()+lines > chunkLines {
		if c = s.grow(class); c == 0 {
			return 0
		}
		s.bump[class] = c
	}
	at := s.used[c-1].Load()
	s.used[c-1].Store(at + lines)
	s.given += int(lines)
	return Ref((c-1)<<chunkBits | at)
}

// grow makes a chunk and returns its number plus 1, 0 if there is no memory.
func (s *slab) grow(class int) uint32 {
	n := s.n.Load()
	if n == maxChunks {
		return 0
	}
	a := alloc(chunkBytes)
	if a == 0 {
		return 0
	}
	s.chunks[n] = a
	s.class[n] = uint8(class)
	s.n.Store(n + 1)
	return n + 1
}

// give takes a block back, whose head says that it is free.
func (s *slab) give(class int, r Ref) {
	a := s.addr(r)
	store64(a, uint64(s.free[class]))
	s.free[class] = r
}

func (s *slab) close() {
	for c := range s.n.Load() {
		release(s.chunks[c], chunkBytes)
	}
	s.n.Store(0)
}
