package gen

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Loss is how much may be lost.
type Loss struct {
	Frames uint64
	Share  float64 // of what was sent, 0 to 1; if it is not 0, Frames does not count
}

// ParseLoss reads the value of an option: a number of frames, or a percentage.
func ParseLoss(option, text string) (Loss, error) {
	if number, ok := strings.CutSuffix(text, "%"); ok {
		f, err := strconv.ParseFloat(number, 64)
		if err != nil || f < 0 || f > 100 {
			return Loss{}, refuse(option, text, "must be a percentage from 0%% to 100%%, as 0.05%%")
		}
		return Loss{Share: f / 100}, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return Loss{}, refuse(option, text, "must be a number of frames, or a percentage as 0.05%%")
	}
	return Loss{Frames: n}, nil
}

// String is the loss as ParseLoss reads it.
func (l Loss) String() string {
	if l.Share != 0 {
		return strconv.FormatFloat(l.Share*100, 'g', -1, 64) + "%"
	}
	return strconv.FormatUint(l.Frames, 10)
}

// Allows reports whether lost of so many frames are not too many.
func (l Loss) Allows(lost, of uint64) bool {
	if l.Share != 0 {
		return float64(lost) <= l.Share*float64(of)
	}
	return lost <= l.Frames
}

// Missed is how many of the frames that were to be sent did not arrive. At a set rate those count, too, that the port had no room for; not those
// that the generator did not send in time, see Slow.
func (r *Result) Missed() (missed, of uint64) {
	t := &r.Total
	of = t.Sent
	if r.Rate > 0 {
		of += t.Refused
	}
	return of - min(of, t.Received), of
}

// slowShare is which part of the frames the generator may skip, for the system takes its CPU away now and then.
const slowShare = 0.01

// Slow reports whether the generator did not keep to the rate.
func (r *Result) Slow() bool {
	t := &r.Total
	return float64(t.Skipped) > slowShare*float64(t.Sent+t.Refused+t.Skipped)
}

// Wrong is how many frames came twice, out of order or changed.
func (r *Result) Wrong() uint64 {
	return r.Total.Duplicate + r.Total.TooLate + r.Total.Reordered + r.Total.Corrupt
}

// SearchConfig says how to look for the highest rate.
type SearchConfig struct {
	Allowed    Loss
	Trial      Trial   // its Rate does not count
	Low, High  float64 // frames per second and port; High 0: what the ports take at most
	Resolution float64 // share of the highest rate that the answer may be off, 0 to 1
	Report     func(SearchStep)
}

// SearchStep is a trial of a search.
type SearchStep struct {
	Result
	Passed bool   `json:"passed"`
	Why    string `json:"why,omitempty"`
}

// SearchResult is the highest rate found.
type SearchResult struct {
	Rate  float64      `json:"rate"` // frames per second and port; 0: none passed
	Best  *Result      `json:"best,omitempty"`
	Steps []SearchStep `json:"steps"`
}

// Search looks for the highest rate at which not more is lost than allowed, by halving the interval (RFC 2544, section 26.1). The upper end is tried
// first, then the lower one.
func (b *Bench) Search(ctx context.Context, c SearchConfig) (SearchResult, error) {
	var r SearchResult
	try := func(rate float64) (bool, error) {
		t := c.Trial
		t.Rate = rate
		result, err := b.Run(ctx, t)
		if err != nil {
			return false, err
		}
		s := judge(result, c.Allowed)
		r.Steps = append(r.Steps, s)
		if s.Passed {
			r.Rate, r.Best = rate, &result
		}
		if c.Report != nil {
			c.Report(s)
		}
		return s.Passed, nil
	}
	high, err := b.highest(ctx, c)
	if err != nil {
		return r, err
	}
	step := high * c.Resolution
	if passed, err := try(high); err != nil || passed {
		return r, err
	}
	low := c.Low
	if low > 0 {
		if passed, err := try(low); err != nil || !passed {
			return r, err
		}
	}
	for high-low > step {
		middle := low + (high-low)/2
		passed, err := try(middle)
		if err != nil {
			return r, err
		}
		if passed {
			low = middle
		} else {
			high = middle
		}
	}
	return r, nil
}

// highest is the upper end of a search: as asked for, or what the ports take.
func (b *Bench) highest(ctx context.Context, c SearchConfig) (float64, error) {
	if c.High > 0 {
		return c.High, nil
	}
	t := c.Trial
	t.Rate = 0
	result, err := b.Run(ctx, t)
	if err != nil {
		return 0, err
	}
	high := 0.0
	for _, p := range result.Ports {
		high = max(high, p.SentPPS)
	}
	if high <= c.Low {
		return 0, fmt.Errorf("the ports take %.0f frames/s at most, not more than the lowest rate %.0f", high, c.Low)
	}
	return high, nil
}

// judge says whether a trial passes.
func judge(r Result, allowed Loss) SearchStep {
	s := SearchStep{Result: r, Passed: true}
	switch missed, of := r.Missed(); {
	case of == 0 || r.Total.Received == 0:
		s.Passed, s.Why = false, "nothing arrived"
	case r.Slow():
		s.Passed, s.Why = false, "the generator was too slow"
	case !allowed.Allows(missed, of):
		s.Passed, s.Why = false, "lost"
		if r.Total.Refused > r.Total.Lost {
			s.Why = "the port did not take them"
		}
	case r.Wrong() > 0:
		s.Passed, s.Why = false, "duplicate, reordered or corrupt"
	}
	return s
}
