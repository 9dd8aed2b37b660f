package gen

import "math/bits"

// Histogram counts values by size. Below 256 each has a place of its own, above that a place has values that differ by less than
// one in 128, so that all 32-bit values take 26 KiB. The zero value is empty. One goroutine may use it.
type Histogram struct {
	places [histPlaces]uint64
	n      uint64
	min    uint32
	max    uint32
}

const (
	histBits   = 7 // places of an octave, as a power of two
	histPlaces = (32-histBits-1)<<histBits + 2<<histBits
)

// place is where v is counted.
func place(v uint32) int {
	e := max(bits.Len32(v)-histBits-1, 0)
	return e<<histBits + int(v>>e)
}

// middle is the value in the middle of a place.
func middle(place int) uint32 {
	if place < 2<<histBits {
		return uint32(place)
	}
	e := place>>histBits - 1
	return uint32(place-e<<histBits)<<e + 1<<e/2
}

// Add counts v.
func (h *Histogram) Add(v uint32) {
	if h.n == 0 || v < h.min {
		h.min = v
	}
	h.max = max(h.max, v)
	h.n++
	h.places[place(v)]++
}

// Merge adds what g has.
func (h *Histogram) Merge(g *Histogram) {
	if g.n == 0 {
		return
	}
	if h.n == 0 || g.min < h.min {
		h.min = g.min
	}
	h.max = max(h.max, g.max)
	h.n += g.n
	for i, n := range g.places {
		h.places[i] += n
	}
}

// N is how many values there are.
func (h *Histogram) N() uint64 { return h.n }

// Max is the greatest value, exactly.
func (h *Histogram) Max() uint32 { return h.max }

// Percentile is the value that a share of p (0 to 1) of all are not greater than, to one in 256. It is 0 when there are none.
func (h *Histogram) Percentile(p float64) uint32 {
	if h.n == 0 {
		return 0
	}
	rank := max(uint64(p*float64(h.n)), 1)
	if float64(rank) < p*float64(h.n) {
		rank++
	}
	var seen uint64
	for i, n := range h.places {
		if seen += n; seen >= rank {
			return min(max(middle(i), h.min), h.max)
		}
	}
	return h.max
}
