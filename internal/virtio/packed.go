package virtio

import "github.com/gvswitch/gvswitch/internal/mem"

// The bits of a packed descriptor's flags that say whose it is (virtio 1.2, section 2.8.1): of an
// available one the first is the driver's wrap counter and the second is not; of a
// used one both are the device's.
const (
	packedAvail = 1 << 7
	packedUsed  = 1 << 15
	packedBits  = packedAvail | packedUsed
)

// What the flags of an event suppression area say (virtio 1.2, section 2.8.10).
const (
	eventsEnable  = 0
	eventsDisable = 1
	eventsAtDesc  = 2 // when the descriptor that is named is reached
)

// wrapBit is the wrap counter beside an index of 15 bits.
const wrapBit = 1 << 15

// Packed is the device side of a packed virtqueue (virtio 1.2, section 2.8).
type Packed struct {
	desc           uintptr
	driver, device uintptr // event suppression areas
	eventIdx       bool

	// The next descriptor to use, and the next to gather: where it is, and what its flags are when it
	// is available.
	use, take place
	taken     uint32 // descriptors between them
	unsaid    uint32 // descriptors used since the driver was last notified, no more than the ring has
	signalOK  bool   // unsaid means something
	readOnly  bool   // of a batch only the first descriptor is written

	source
}

// place is a position in a packed ring.
type place struct {
	at    uint32
	flags uint16 // the two bits of an available descriptor in this round
}

// step goes n <= size descriptors on.
func (p *place) step(n, size uint32) {
	if p.at += n; p.at >= size {
		p.at -= size
		p.flags ^= packedBits
	}
}

// used is what the two bits of a used descriptor are in this round.
func (p place) used() uint16 {
	if p.flags == packedAvail {
		return packedBits
	}
	return 0
}

// base is the position in 16 bits: index and wrap counter.
func (p place) base() uint32 {
	if p.flags == packedAvail {
		return p.at | wrapBit
	}
	return p.at
}

func placeOf(base uint32) place {
	if base&wrapBit != 0 {
		return place{base &^ wrapBit, packedAvail}
	}
	return place{base, packedUsed}
}

// NewPacked makes the device side of a packed ring.
func NewPacked(c Config) (*Packed, error) {
	if err := c.check(4, 4); err != nil {
		return nil, err
	}
	p := &Packed{
		desc: c.Desc, driver: c.Avail, device: c.Used, eventIdx: c.Features&FEventIdx != 0,
		readOnly: batches(&c), source: newSource(&c),
	}
	start, err := p.start(c.Base)
	if err != nil {
		return nil, err
	}
	p.use, p.take = start, start
	p.Disarm()
	return p, nil
}

// Base implements Ring.
func (p *Packed) Base() uint32 { return p.use.base() | p.use.base()<<16 }

// Empty implements Ring.
func (p *Packed) Empty() bool {
	return mem.Load16Acquire(p.desc+16*uintptr(p.use.at)+14)&packedBits != p.use.flags
}
