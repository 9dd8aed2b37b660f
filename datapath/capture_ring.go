package datapath

import (
	"sync/atomic"

	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/packet"
)

// captureRing carries captured packets from one poll thread to the goroutine that reads them. Its memory
// lies outside the heap and is there from the beginning; put never waits: what does not fit is counted.
//
// Positions count bytes and never wrap; a record lies in one piece, and a filler stands where one would
// not fit before the ring's end. The thread writes records, then moves written; the reader reads them,
// then moves taken.
type captureRing struct {
	mem  []byte
	base uintptr
	size uint64 // a power of 2

	// The thread's.
	_      [64]byte
	head   uint64 // where the next record goes
	room   uint64 // head may not pass it: taken as last seen, plus size
	missed mem.Counter
	_      [64]byte

	written atomic.Uint64
	_       [64]byte
	taken   atomic.Uint64
}

// A record: its length in the ring 32, bytes of the frame that follow 32, cycle count 64, length of the
// frame 32, port 16, direction 8, drop reason 8. It is aligned to 8 bytes.
const (
	recordHead = 24
	filler     = ^uint32(0) // in place of the bytes that follow
)

// newCaptureRing makes a ring of size bytes, a power of 2. All of it is touched here, so that the thread meets
// no page faults.
func newCaptureRing(size int) (*captureRing, error) {
	m, err := mem.Alloc(size)
	if err != nil {
		return nil, err
	}
	for i := 0; i < size; i += 4096 {
		m[i] = 1
	}
	return &captureRing{mem: m, base: mem.AddrOf(m), size: uint64(size), room: uint64(size)}, nil
}

// free gives the memory back. Nobody may use the ring any more.
func (r *captureRing) free() {
	if r.mem != nil {
		_ = mem.Free(r.mem)
		r.mem = nil
	}
}

// most is how many bytes of a frame the ring takes: a record of half the ring fits wherever the empty ring
// begins, with the filler that may have to stand before it.
func (r *captureRing) most() int { return int(r.size)/2 - recordHead }

// put adds up to snap bytes of p, most at most. publish shows it to the reader. Reading a lent tail may fault: then nothing has happened.
func (r *captureRing) put(p *packet.Packet, snap uint32, cycles uint64, port uint16, dir Direction, why packet.DropReason) {
	n := min(p.Len, snap)
	need := uint64(recordHead+n+7) &^ 7
	at := r.head & (r.size - 1)
	pad := uint64(0)
	if at+need > r.size {
		pad = r.size - at
	}
	if r.head+pad+need > r.room {
		if r.room = r.taken.Load() + r.size; r.head+pad+need > r.room {
			r.missed.Add(1)
			return
		}
	}
	if pad != 0 {
		mem.Store32(r.base+uintptr(at), uint32(pad))
		mem.Store32(r.base+uintptr(at)+4, filler)
		at = 0
	}
	a := r.base + uintptr(at)
	p.CopyOut(a+recordHead, 0, int(n))
	mem.Store32(a, uint32(need))
	mem.Store32(a+4, n)
	mem.Store64(a+8, cycles)
	mem.Store32(a+16, p.Len)
	mem.Store32(a+20, uint32(port)|uint32(dir)<<16|uint32(why)<<24)
	r.head += pad + need
}

// publish shows the reader all that was put.
func (r *captureRing) publish() {
	if r.written.Load() != r.head {
		r.written.Store(r.head)
	}
}

// peek is the oldest record; its data is good until next. false: there is none. The reader calls it.
func (r *captureRing) peek(c *Captured) (cycles uint64, ok bool) {
	for {
		from := r.taken.Load()
		if from == r.written.Load() {
			return 0, false
		}
		a := r.base + uintptr(from&(r.size-1))
		n := mem.Load32(a + 4)
		if n == filler {
			r.taken.Store(from + uint64(mem.Load32(a)))
			continue
		}
		c.Data = mem.Bytes(a+recordHead, int(n))
		c.Len = mem.Load32(a + 16)
		w := mem.Load32(a + 20)
		c.Dir, c.Drop = Direction(w>>16), packet.DropReason(w>>24)
		return mem.Load64(a + 8), true
	}
}

// next gives the space of the oldest record back.
func (r *captureRing) next() {
	from := r.taken.Load()
	r.taken.Store(from + uint64(mem.Load32(r.base+uintptr(from&(r.size-1)))))
}
