package virtio

import (
	"fmt"

	"github.com/gvswitch/gvswitch/internal/mem"
)

// start is where a ring goes on for which base was said. That is where descriptors
// were used last: what was only taken goes once more. DPDK knows one position
// only, in the lower half.
//
// Not all that is said is true. User Mode Linux says 0 of a new ring, which would mean the second
// round; and QEMU, when a back end dies without telling where it stands, says where
// the ring stood when it was started. So what is said must fit what is in the ring, or the ring
// decides.
func (p *Packed) start(base uint32) (place, error) {
	avail, used := base&0xffff, base>>16
	if used == 0 {
		used = avail
	}
	for _, x := range []uint32{avail, used} {
		if x&^wrapBit >= p.size {
			return place{}, fmt.Errorf("base %#x: index %d in a ring of %d", base, x&^wrapBit, p.size)
		}
	}
	said := placeOf(used)
	t, ok := p.trace()
	if !ok || t.blank && base != 0 || said == t.from {
		return said, nil
	}
	if at, ok := p.behind(&t, &said); ok {
		return at, nil
	}
	if t.used && (p.readOnly || !p.indirect) { // else chains are hardly ever longer than one
		if at, ok := p.behind(&t, nil); ok {
			return at, nil
		}
	}
	return t.from, nil
}

// trace is what the flags of a ring's descriptors tell about who did what in it.
type trace struct {
	blank bool   // nothing at all: a new ring
	from  place  // the device goes on here, or behind what is left here of what it used last
	left  uint32 // descriptors from there to the one that the driver makes available next
	used  bool   // the one before from is a used one,
	id    uint16 // of this buffer
}

// trace reads them. The first of the two bits is the round in which a descriptor was last written, by
// whomever, so it changes where the driver's next one is. Before that come those that are
// available, and before those a used one, unless it has been made available again. A ring in which
// the rounds change more than once tells nothing.
func (p *Packed) trace() (t trace, ok bool) {
	first := p.flags(0) & packedAvail
	t.blank, t.from.flags = true, packedAvail
	if first != 0 {
		t.from.flags = packedUsed // the next round; the same one if there is a change
	}
	changes := 0
	for i, round := uint32(0), first; i < p.size; i++ {
		f := p.flags(i)
		t.blank = t.blank && f&packedBits == 0
		if f&packedAvail != round {
			round ^= packedAvail
			changes++
			t.from.at = i
		}
	}
	if changes == 1 {
		t.from.flags ^= packedBits
	}
	for ; t.left < p.size; t.left++ {
		before := t.from
		before.back(p.size)
		if f := p.flags(before.at) & packedBits; f == 0 || f == packedBits {
			addr, rest := mem.Load64(p.desc+16*uintptr(before.at)), mem.Load64(p.desc+16*uintptr(before.at)+8)
			t.used, t.id = addr|rest != 0, uint16(rest>>32)
			break
		}
		t.from = before
	}
	return t, changes <= 1
}

// behind is where the device goes on if t.from begins with the rest of a chain that it used, or of a
// batch: behind the descriptor that names the buffer, its last. With said, it must be there.
func (p *Packed) behind(t *trace, said *place) (place, bool) {
	at := t.from
	for range t.left {
		rest := mem.Load64(p.desc + 16*uintptr(at.at) + 8)
		last := rest>>48&descNext == 0
		at.step(1, p.size)
		if last && (!t.used || uint16(rest>>32) == t.id) && (said == nil || *said == at) {
			return at, true
		}
		if last && !p.readOnly {
			break // only a batch has more than one chain
		}
	}
	return at, false
}

func (p *Packed) flags(i uint32) uint16 { return mem.Peek16(p.desc + 16*uintptr(i) + 14) }

// back goes one descriptor back.
func (p *place) back(size uint32) {
	if p.at == 0 {
		p.at = size
		p.flags ^= packedBits
	}
	p.at--
}
