package virtiotest

import "github.com/gvswitch/gvswitch/internal/mem"

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

// Ring is the driver side of a split virtqueue.
type Ring struct {
	Mem               Memory
	Size              int
	Desc, Avail, Used uint64 // guest addresses of the three parts
	EventIdx          bool

	avail, kicked uint16 // published index; index at the last NeedKick
	next          uint16 // index up to which chains have been added
	used          uint16 // next used entry to take
	free          []uint16
	chains        [][]uint16 // descriptors of the chain with this head
}

// RingBytes is the memory that a ring of size entries takes in NewRing's layout.
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

// NewRing makes an empty ring of size entries at guest address at (16-aligned),
// zeroing its memory. Fields may be changed before first use; call Reset then.
func NewRing(m Memory, at uint64, size int, eventIdx bool) *Ring {
	avail, used, end := layout(size)
	clear(m.At(at, end))
	r := &Ring{Mem: m, Size: size, Desc: at, Avail: at + uint64(avail), Used: at + uint64(used), EventIdx: eventIdx}
	r.Reset(0)
	return r
}

// Reset forgets all chains and starts at index base on both sides, as a driver
// does that sets a ring up anew. The ring's memory is zeroed up to its indices.
func (r *Ring) Reset(base uint16) {
	clear(r.Mem.At(r.Desc, r.Size*descSize))
	clear(r.Mem.At(r.Avail, 6+2*r.Size))
	clear(r.Mem.At(r.Used, 6+8*r.Size))
	r.avail, r.next, r.used, r.kicked = base, base, base, base
	mem.Store16Release(r.addr(r.Avail+2, 2), base)
	mem.Store16Release(r.addr(r.Used+2, 2), base)
	r.free = r.free[:0]
	for i := r.Size - 1; i >= 0; i-- {
		r.free = append(r.free, uint16(i))
	}
	r.chains = make([][]uint16, r.Size)
}

func (r *Ring) addr(guest uint64, n int) uintptr { return mem.AddrOf(r.Mem.At(guest, n)) }

// Free is how many descriptors are free.
func (r *Ring) Free() int { return len(r.free) }

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
	if n == 0 || n > len(r.free) {
		return 0, false
	}
	ids := make([]uint16, n)
	for i := range ids {
		ids[i] = r.free[len(r.free)-1]
		r.free = r.free[:len(r.free)-1]
	}
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
	r.Post(ids[0])
	return ids[0], true
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
	r.avail = r.next
	mem.Store16Release(r.addr(r.Avail+2, 2), r.avail)
}

// NeedKick tells whether the device wants to know of what was published since
// the last call.
func (r *Ring) NeedKick() bool {
	mem.Fence()
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

// Take takes the next used chain back: its head, and how much the device says
// that it wrote.
func (r *Ring) Take() (head uint16, n uint32, ok bool) {
	if mem.Load16Acquire(r.addr(r.Used+2, 2)) == r.used {
		return 0, 0, false
	}
	id, n := r.UsedEntry(int(r.used) & (r.Size - 1))
	r.used++
	head = uint16(id)
	if int(id) >= r.Size || r.chains[head] == nil {
		return head, n, true // a head posted raw
	}
	r.free = append(r.free, r.chains[head]...)
	r.chains[head] = nil
	return head, n, true
}

// Pending is how many used chains wait to be taken.
func (r *Ring) Pending() int { return int(mem.Load16Acquire(r.addr(r.Used+2, 2)) - r.used) }

// Indices are the published available index and the next used index to take.
func (r *Ring) Indices() (avail, used uint16) { return r.avail, r.used }

// Interrupts asks for a call on the next used chain, or asks for silence. It
// reports whether chains wait already: then no call may come for them.
func (r *Ring) Interrupts(on bool) (pending bool) {
	switch {
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
