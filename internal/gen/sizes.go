package gen

import (
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/packet"
)

// imix is the simple mix that is in use since 2000: 7 short, 4 medium, 1 long; here without CRC as all sizes.
const imix = "64:7,594:4,1518:1"

// maxWeights bounds the length of the list that a mix becomes.
const maxWeights = 1 << 14

// ParseSizes reads what --size may be, a list of sizes in the order in which they are taken:
//
//	64                   one size
//	64-1518              all sizes from one to another, shuffled
//	64:7,594:4,1518:1    a mix by weights, shuffled
//	imix                 that one
func ParseSizes(text string) ([]int, error) {
	spec := text
	if spec == "imix" {
		spec = imix
	}
	if first, last, ok := strings.Cut(spec, "-"); ok {
		return sizeRange(text, first, last)
	}
	var sizes []int
	for item := range strings.SplitSeq(spec, ",") {
		size, weight, weighed := strings.Cut(item, ":")
		n, err := parseSize(text, size)
		if err != nil {
			return nil, err
		}
		w := 1
		if weighed {
			if w, err = strconv.Atoi(weight); err != nil || w < 1 || w > maxWeights {
				return nil, refuse("size", text, "weight %q is not a number from 1 to %d", weight, maxWeights)
			}
		}
		if len(sizes)+w > maxWeights {
			return nil, refuse("size", text, "the weights add up to more than %d", maxWeights)
		}
		for range w {
			sizes = append(sizes, n)
		}
	}
	shuffle(sizes)
	return sizes, nil
}

func sizeRange(text, first, last string) ([]int, error) {
	lo, err := parseSize(text, first)
	if err != nil {
		return nil, err
	}
	hi, err := parseSize(text, last)
	if err != nil {
		return nil, err
	}
	if hi < lo {
		return nil, refuse("size", text, "%d is less than %d", hi, lo)
	}
	sizes := make([]int, 0, hi-lo+1)
	for n := lo; n <= hi; n++ {
		sizes = append(sizes, n)
	}
	shuffle(sizes)
	return sizes, nil
}

func parseSize(text, size string) (int, error) {
	n, err := strconv.Atoi(size)
	if err != nil || n < packet.MinFrame || n > packet.MaxFrame {
		return 0, refuse("size", text, "%q is not a number of bytes from %d to %d", size, packet.MinFrame, packet.MaxFrame)
	}
	return n, nil
}

// shuffle brings v into an order that looks random and is always the same.
func shuffle[T any](v []T) {
	r := rand.New(rand.NewPCG(1, uint64(len(v))))
	r.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
}

// meanSize is the average of sizes in bytes.
func meanSize(sizes []int) float64 {
	sum := 0
	for _, s := range sizes {
		sum += s
	}
	return float64(sum) / float64(len(sizes))
}
