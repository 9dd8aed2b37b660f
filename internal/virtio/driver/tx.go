package driver

import (
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/internal/virtio"
)

// MaxPieces is the most buffers that one Reserve gives: a burst of small frames, or
// some of 64 KiB.
const MaxPieces = 128

// Piece is a part of a frame in one buffer, to be read by the device.
type Piece struct {
	Off  uint32 // in the buffer
	Len  uint32
	More bool // the frame goes on with the next piece
}

// Pieces is the buffers that Reserve gave and what Add shall make of them.
type Pieces struct {
	IDs    [MaxPieces]uint16 // free buffers
	Pieces [MaxPieces]Piece  // Pieces[i] is in buffer IDs[i]
}

// Tx is a transmit ring.
type Tx interface {
	// Held is where Reserve puts free buffers. It is always the same.
	Held() *Pieces
	// Reserve makes Held().IDs[0:n] free buffers, up to want (MaxPieces at most), and returns n. It
	// takes back what the device has read if need be.
	Reserve(want int) int
	// Add makes frames of the first n pieces, which must not end within one. The IDs
	// are gone after that: Reserve gives others.
	Add(n int)
	// Publish shows the device all that was added.
	Publish()
	// Reclaim takes back what the device has read.
	Reclaim()
	Signals
}

// NewTx makes the transmit ring that the features ask for.
func NewTx(c Config) (Tx, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	order := c.Features&virtio.FInOrder != 0
	switch {
	case c.Features&virtio.FRingPacked != 0:
		return newTxPacked(c, order), nil
	case order:
		return newTxOrdered(c), nil
	default:
		return newTxSplit(c), nil
	}
}

// buffers is what a transmit ring knows of its buffers, wherever its descriptors are.
type buffers struct {
	Pieces
	mask        uint16
	first, last uint32   // of the free ones, in the ring free
	free        []uint16 // in the order in which they came back
	cont        []uint16 // buffer -> the next of its frame, or none
	guest       uint64
	stride      uint64
	host        uintptr
	table       uint32
	linked      bool // entries of tables name the next one
	header      uint32
}

const none = 1<<16 - 1

func newBuffers(c Config) buffers {
	b := buffers{
		mask: uint16(c.Size - 1), free: make([]uint16, c.Size), cont: make([]uint16, c.Size),
		guest: c.Guest, stride: uint64(c.Stride), host: c.Buffers, table: c.Table, header: c.Header,
		last: uint32(c.Size), linked: c.Features&virtio.FRingPacked == 0,
	}
	for i := range b.free {
		b.free[i] = uint16(i)
	}
	return b
}

// Held implements Tx.
func (b *buffers) Held() *Pieces { return &b.Pieces }

// take fills IDs with the buffers that have been free longest.
func (b *buffers) take(n int) {
	for i := range n {
		b.IDs[i] = b.free[uint16(b.first+uint32(i))&b.mask]
	}
}

// chain notes how the frame that begins with piece i goes on, and returns how many pieces it has.
func (b *buffers) chain(i int) int {
	n := 1
	for ; b.Pieces.Pieces[i+n-1].More; n++ {
		b.cont[b.IDs[i+n-1]] = b.IDs[i+n]
	}
	b.cont[b.IDs[i+n-1]] = none
	return n
}

// give takes the buffers of a frame back.
func (b *buffers) give(id uint16) {
	for ; id != none; id = b.cont[id] {
		b.free[uint16(b.last)&b.mask] = id
		b.last++
	}
}

func (b *buffers) addr(id uint16, off uint32) uint64 {
	return b.guest + uint64(id)*b.stride + uint64(off)
}

// makeTable writes the indirect table of the frame of n pieces that begins with piece i, and returns
// its address and length. The header is an entry of its own. In a packed ring, entries just follow each
// other (virtio 1.2, section 2.8.7).
func (b *buffers) makeTable(i, n int) (addr uint64, length uint32) {
	head := b.IDs[i]
	at := b.host + uintptr(head)*uintptr(b.stride) + uintptr(b.table)
	entries := uint64(n)
	entry := func(k uint64, addr uint64, n uint32) {
		rest := uint64(n)
		if b.linked && k < entries {
			rest |= descNext<<32 | (k+1)<<48
		}
		put(at+16*uintptr(k), addr, rest)
	}
	for k := range n {
		p := b.Pieces.Pieces[i+k]
		addr := b.addr(b.IDs[i+k], p.Off)
		if k == 0 {
			entry(0, addr, b.header)
			addr += uint64(b.header)
			p.Len -= b.header
		}
		entry(uint64(k+1), addr, p.Len)
	}
	return b.addr(head, b.table), 16 * uint32(n+1)
}

// put writes a descriptor where another one stands.
func put(at uintptr, addr, rest uint64) {
	if mem.Load64(at) != addr {
		mem.Store64(at, addr)
	}
	if mem.Load64(at+8) != rest {
		mem.Store64(at+8, rest)
	}
}

// words is a descriptor as it was written last.
type words struct{ addr, rest uint64 }
