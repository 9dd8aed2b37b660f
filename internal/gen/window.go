package gen

// window remembers which of a source's last frames came.
type window struct {
	came [windowWords]uint64 // one bit a number; of the numbers up to top only
	top  uint32              // highest number that came
}

const (
	windowWords = 1 << 14
	windowBits  = 64 * windowWords // frames
)

// What a sequence number tells.
type arrival uint8

const (
	arrivedFirst   arrival = iota
	arrivedAgain           // a duplicate
	arrivedTooLate         // so long after others that it is not known whether it is one
)

// take notes that number seq came. Numbers begin with 1.
func (w *window) take(seq uint32) arrival {
	word, bit := &w.came[seq/64%windowWords], uint64(1)<<(seq%64)
	if ahead := int32(seq - w.top); ahead > 0 {
		if seq/64 != w.top/64 {
			w.forget(seq)
		}
		w.top = seq
		*word |= bit
		return arrivedFirst
	} else if ahead <= -windowBits+64 {
		return arrivedTooLate
	}
	if *word&bit != 0 {
		return arrivedAgain
	}
	*word |= bit
	return arrivedFirst
}

// forget empties the words that are entered on the way from top to seq.
func (w *window) forget(seq uint32) {
	n := min(seq/64-w.top/64, windowWords)
	if seq < w.top { // the numbers went round
		n = min(seq/64+1<<26-w.top/64, windowWords)
	}
	for k := range n {
		w.came[(seq/64-k)%windowWords] = 0
	}
}
