package gen

import "math/bits"

// Pacer says when frames are due. Its times are readings of any counter. Frame k of a trial is due k intervals after its beginning, to the
// last bit: no error adds up. A worker that comes too late sends what has become due at once, but not more than backlog frames: the rest
// is skipped, since a burst of that length would say nothing about the rate.
type Pacer struct {
	whole, part uint64 // interval between frames: cycles, and 2^-64 of one
	hold        uint64 // how much later than the first of them a burst is sent, so that it is full

	next, nextPart uint64 // when the next frame is due
	end            uint64 // no frame is due from then on
	free           bool   // no rate: as many as possible
	skipped        uint64
	left           uint64 // frames that may still be sent
}

const backlog = 512 // frames

// NewPacer paces frames at rate frames per second, 0 for no limit, on a counter of hz; each burst is of so many frames, if there are enough.
func NewPacer(rate float64, hz uint64, burst int) Pacer {
	if rate <= 0 {
		return Pacer{free: true}
	}
	interval := float64(hz) / rate
	p := Pacer{whole: uint64(interval)}
	if r := uint64(rate); float64(r) == rate { // exact for what people write
		p.whole = hz / r
		var rest uint64
		if p.part, rest = bits.Div64(hz%r, 0, r); rest > 0 {
			p.part++ // rather late by nothing than early: a second has no frame too many
		}
	} else {
		p.part = uint64((interval - float64(p.whole)) * (1 << 32) * (1 << 32))
	}
	if p.whole == 0 && p.part == 0 { // time would stand still
		return Pacer{free: true}
	}
	p.hold = uint64(interval * float64(burst-1))
	return p
}

// Start begins a trial that ends at end or, if count is not 0, with so many frames.
func (p *Pacer) Start(now, end, count uint64) {
	p.next, p.nextPart, p.end, p.skipped, p.left = now, 0, end, 0, count
	if count == 0 {
		p.left = 1<<64 - 1
	}
}

// Due is how many frames, most at most, are to be sent now. They count as sent.
func (p *Pacer) Due(now uint64, most int) int {
	most = int(min(uint64(most), p.left))
	if p.free {
		if now >= p.end {
			return 0
		}
		p.left -= uint64(most)
		return most
	}
	if now < p.next+p.hold && now < p.end || p.next >= p.end {
		return 0
	}
	if late := now - p.next; late > backlog*(p.whole+1) && now > p.next {
		p.skip(now)
	}
	now = min(now, p.end-1)
	n := 0
	for n < most && p.next <= now {
		p.step()
		n++
	}
	p.left -= uint64(n)
	return n
}

func (p *Pacer) step() {
	var carry uint64
	p.nextPart, carry = bits.Add64(p.nextPart, p.part, 0)
	p.next += p.whole + carry
}

// skip gives up what is due but for the backlog.
func (p *Pacer) skip(now uint64) {
	k := (min(now, p.end) - p.next) / (p.whole + 1)
	if k <= backlog {
		return
	}
	k -= backlog
	hi, lo := bits.Mul64(p.part, k)
	var carry uint64
	p.nextPart, carry = bits.Add64(p.nextPart, lo, 0)
	p.next += k*p.whole + hi + carry
	p.skipped += k // a count of frames is sent all the same, later
}

// Done reports whether nothing will be due any more.
func (p *Pacer) Done(now uint64) bool {
	if p.left == 0 {
		return true
	}
	if p.free {
		return now >= p.end
	}
	return p.next >= p.end
}

// Return takes back n frames of the last Due that were not sent after all.
func (p *Pacer) Return(n int) {
	if p.free {
		p.left += uint64(n)
	}
}

// Skipped is how many frames were due and given up.
func (p *Pacer) Skipped() uint64 { return p.skipped }
