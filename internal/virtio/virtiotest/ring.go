package virtiotest

import (
	"slices"

	"github.com/gvswitch/gvswitch/internal/mem"
)

// Descriptor and ring flags (virtio 1.2, sections 2.7.5, 2.7.6 and 2.7.8).
const (
	Next        uint16 = 1 // descriptor: Next is valid
	Write       uint16 = 2 // descriptor: the device writes
	Indirect    uint16 = 4 // descriptor: a table of descriptors
	NoInterrupt uint16 = 1 // avail flags
	NoNotify    uint16 = 1 // used flags
)

const descSize = 16

// Elem is one element of a chain.
type Elem struct {
	Addr  uint64
	Len   uint32
	Write bool
}

// Ring is the driver side of a virtqueue of either kind.
type Ring struct {
	Mem               Memory
	Size              int
	Desc, Avail, Used uint64 // guest addresses of the three parts, of a packed ring the driver's and the device's event area
	EventIdx          bool
	InOrder           bool // a used entry may stand for those before it, too

	avail, kicked uint16 // published index; index at the last NeedKick
	next          uint16 // index up to which chains have been added
	used          uint16 // next used entry to take
	free          []uint16
	chains        [][]uint16 // descriptors of the chain with this head
	order         []uint16   // heads that the device has, in the order in which they were added
	until         int        // heads of order up to here have been used in one entry; see take
	last          uint32     // and that many bytes were written to the last of them
	packed        *packed    // nil: split
}

// Features that decide how a ring works (virtio 1.2, section 6).
const (
	FEventIdx   uint64 = 1 << 29
	FRingPacked uint64 = 1 << 34
	FInOrder    uint64 = 1 << 35
)

// RingBytes is the memory that a ring of size entries takes in New's layout.
func RingBytes(size int) int {
	_, _, end := layout(size)
	return end
}

func layout(size int) (avail, used, end int) {
	avail = size * descSize
	used = (avail + 6 + 2*size + 3) &^ 3
	end = (used + 6 + 8*size + 15) &^ 15
	return avail, used, end
}

// New makes an empty ring of size entries at guest address at (16-aligned), of the kind that the
// features ask for, zeroing its memory. Fields may be changed before first use; call Reset then.
func New(m Memory, at uint64, size int, features uint64) *Ring {
	avail, used, end := layout(size)
	clear(m.At(at, end))
	r := &Ring{
		Mem: m, Size: size, Desc: at, Avail: at + uint64(avail+3)&^3, Used: at + uint64(used),
		EventIdx: features&FEventIdx != 0, InOrder: features&FInOrder != 0,
	}
	if features&FRingPacked != 0 {
		r.packed = new(packed)
	}
	r.Reset(r.Start())
	return r
}

// NewRing is New for a split ring.
func NewRing(m Memory, at uint64, size int, eventIdx bool) *Ring {
	features := uint64(0)
	if eventIdx {
		features = FEventIdx
	}
	return New(m, at, size, features)
}

// Packed tells which kind of ring it is.
func (r *Ring) Packed() bool { return r.packed != nil }

// Start is the position at which a new ring begins, for Reset.
func (r *Ring) Start() uint16 {
	if r.packed != nil {
		return wrapBit
	}
	return 0
}

// Base is a position of Reset as SET_VRING_BASE says it.
func (r *Ring) Base(position uint16) uint32 {
	if r.packed != nil {
		return uint32(position) | uint32(position)<<16
	}
	return uint32(position)
}

// Reset forgets all chains and starts at a position on both sides, as a driver
// does that sets a ring up anew. Of a split ring that is an index, of a packed one
// an index of 15 bits and the wrap counter. The ring's memory is zeroed but for what tells
// the position.
func (r *Ring) Reset(position uint16) {
	clear(r.Mem.At(r.Desc, r.Size*descSize))
	r.order, r.until = r.order[:0], 0
	r.free = r.free[:0]
	for i := range r.Size {
		r.free = append(r.free, uint16(i))
	}
	r.chains = make([][]uint16, r.Size)
	if r.packed != nil {
		r.packed.reset(r, position)
		return
	}
	clear(r.Mem.At(r.Avail, 6+2*r.Size))
	clear(r.Mem.At(r.Used, 6+8*r.Size))
	r.avail, r.next, r.used, r.kicked = position, position, position, position
	mem.Store16Release(r.addr(r.Avail+2, 2), position)
	mem.Store16Release(r.addr(r.Used+2, 2), position)
}

func (r *Ring) addr(guest uint64, n int) uintptr { return mem.AddrOf(r.Mem.At(guest, n)) }

// Free is how many descriptors are free.
func (r *Ring) Free() int {
	if r.packed != nil {
		return r.packed.free
	}
	return len(r.free)
}

// Add puts a chain of one descriptor an element into the available ring, not yet
// published. False: not enough descriptors.
func (r *Ring) Add(chain ...Elem) (head uint16, ok bool) { return r.add(chain, nil, 0) }

// AddIndirect adds a chain that begins with the elements direct and ends with
// a table of the elements of table, written at guest address at.
func (r *Ring) AddIndirect(at uint64, table []Elem, direct ...Elem) (head uint16, ok bool) {
	return r.add(direct, table, at)
}

func (r *Ring) add(direct, table []Elem, at uint64) (uint16, bool) {
	n := len(direct)
	if table != nil {
		n++
	}
	if n == 0 || n > r.Free() {
		return 0, false
	}
	if r.packed != nil {
		return r.packed.add(r, direct, table, at), true
	}
	ids := r.take(n)
	for i, e := range direct {
		flags, next := elemFlags(e), uint16(0)
		if i+1 < n {
			flags, next = flags|Next, ids[i+1]
		}
		r.RawDesc(int(ids[i]), e.Addr, e.Len, flags, next)
	}
	if table != nil {
		for i, e := range table {
			flags, next := elemFlags(e), uint16(0)
			if i+1 < len(table) {
				flags, next = flags|Next, uint16(i+1)
			}
			PutDesc(r.Mem.At(at+uint64(i*descSize), descSize), e.Addr, e.Len, flags, next)
		}
		r.RawDesc(int(ids[n-1]), at, uint32(len(table)*descSize), Indirect, 0)
	}
	r.chains[ids[0]] = ids
	r.order = append(r.order, ids[0])
	r.Post(ids[0])
	return ids[0], true
}

// take takes n free descriptors or, of a packed ring, names of buffers. In order they are those that follow
// (virtio 1.2, section 2.7.9); else the one that became free last is the first.
func (r *Ring) take(n int) []uint16 {
	ids := make([]uint16, n)
	for i := range ids {
		at := len(r.free) - 1
		if r.InOrder {
			at = 0
		}
		ids[i] = r.free[at]
		r.free = append(r.free[:at], r.free[at+1:]...)
	}
	return ids
}

func elemFlags(e Elem) uint16 {
	if e.Write {
		return Write
	}
	return 0
}

// Post puts head, whatever it is, into the available ring, not yet published.
func (r *Ring) Post(head uint16) {
	r.RawAvail(int(r.next)&(r.Size-1), head)
	r.next++
}

// Publish lets the device see everything added.
func (r *Ring) Publish() {
	if r.packed != nil {
		r.packed.publish(r)
		return
	}
	r.avail = r.next
	mem.Store16Release(r.addr(r.Avail+2, 2), r.avail)
}

// NeedKick tells whether the device wants to know of what was published since
// the last call.
func (r *Ring) NeedKick() bool {
	mem.Fence()
	if r.packed != nil {
		return r.packed.needKick(r)
	}
	old := r.kicked
	r.kicked = r.avail
	if old == r.avail {
		return false
	}
	if r.EventIdx {
		event := mem.Load16Acquire(r.addr(r.Used+4+uint64(8*r.Size), 2))
		return r.avail-event-1 < r.avail-old
	}
	return mem.Load16Acquire(r.addr(r.Used, 2))&NoNotify == 0
}

// Take takes the next used chain back: its head (of a packed ring the buffer's name), and how much the
// device says that it wrote.
func (r *Ring) Take() (head uint16, n uint32, ok bool) {
	if r.until == 0 {
		id, n, ok := r.entry()
		if !ok {
			return 0, 0, false
		}
		if id >= uint32(r.Size) || r.chains[id] == nil {
			r.skip(nil)
			return uint16(id), n, true // a head posted raw
		}
		r.until, r.last = 1, n
		if r.InOrder {
			r.until += slices.Index(r.order, uint16(id))
		} else {
			r.order = slices.DeleteFunc(r.order, func(h uint16) bool { return h == uint16(id) })
			r.order = slices.Insert(r.order, 0, uint16(id))
		}
	}
	head = r.order[0]
	r.order = r.order[1:]
	if r.until--; r.until == 0 {
		n = r.last
	}
	r.skip(r.chains[head])
	if r.packed != nil {
		r.free = append(r.free, head)
	} else {
		r.free = append(r.free, r.chains[head]...)
	}
	r.chains[head] = nil
	return head, n, true
}

// entry is the next used entry.
func (r *Ring) entry() (id, n uint32, ok bool) {
	if r.packed != nil {
		return r.packed.entry(r)
	}
	if mem.Load16Acquire(r.addr(r.Used+2, 2)) == r.used {
		return 0, 0, false
	}
	id, n = r.UsedEntry(int(r.used) & (r.Size - 1))
	return id, n, true
}

// skip goes on behind a used chain.
func (r *Ring) skip(chain []uint16) {
	if r.packed != nil {
		r.packed.skip(r, max(1, len(chain)))
		return
	}
	r.used++
}

// Pending is how many used chains wait to be taken, of a packed ring whether there are any.
func (r *Ring) Pending() int {
	if r.packed != nil {
		if _, _, ok := r.packed.entry(r); ok || r.until > 0 {
			return 1
		}
		return 0
	}
	return int(mem.Load16Acquire(r.addr(r.Used+2, 2)) - r.used)
}

// Standing is where a device stands whose used chains have all been taken, as GET_VRING_BASE says it.
func (r *Ring) Standing() uint32 {
	if r.packed != nil {
		return r.Base(r.packed.used.word())
	}
	return r.Base(r.used)
}

// Indices are the published available index of a split ring and the next used index to take.
func (r *Ring) Indices() (avail, used uint16) { return r.avail, r.used }

// Interrupts asks for a call on the next used chain, or asks for silence. It
// reports whether chains wait already: then no call may come for them.
func (r *Ring) Interrupts(on bool) (pending bool) {
	switch {
	case r.packed != nil:
		r.packed.interrupts(r, on)
	case r.EventIdx && on:
		mem.Store16Release(r.addr(r.Avail+4+uint64(2*r.Size), 2), r.used)
	case r.EventIdx:
		// An event far away: about one turn of the index from now.
		mem.Store16Release(r.addr(r.Avail+4+uint64(2*r.Size), 2), r.used-1)
	case on:
		mem.Store16Release(r.addr(r.Avail, 2), 0)
	default:
		mem.Store16Release(r.addr(r.Avail, 2), NoInterrupt)
	}
	mem.Fence()
	return r.Pending() > 0
}
