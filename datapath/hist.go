package datapath

// HistogramBuckets is the number of buckets of a Histogram.
const HistogramBuckets = 32

// Histogram counts values by magnitude: bucket i has those of i bits, that is
// 2^(i-1) to 2^i - 1; the last one everything above.
type Histogram [HistogramBuckets]uint64

// Count is the number of values.
func (h *Histogram) Count() (n uint64) {
	for _, v := range h {
		n += v
	}
	return n
}

// Percentile is the upper bound of the bucket that holds the given part
// (0 to 1) of the values, 0 if there are none.
func (h *Histogram) Percentile(part float64) uint64 {
	want := uint64(part * float64(h.Count()))
	var n uint64
	for i, v := range h {
		if n += v; n > want || v > 0 && n == h.Count() {
			return 1<<i - 1
		}
	}
	return 0
}
