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
