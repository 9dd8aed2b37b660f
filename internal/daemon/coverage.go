package daemon

import "sync"

// coverage turns counters into rates, as Open vSwitch shows them: over the last sample of 5 seconds, the last minute and the last hour.
type coverage struct {
	mu     sync.Mutex
	rates  map[string]*coverageRates
	sample int // number of the next
}

// Lengths of the averages, in samples of statisticsInterval.
const (
	samplesPerMinute = 12
	minutesPerHour   = 60
)

// coverageRates is what is known of one counter.
type coverageRates struct {
	last    uint64 // as of the last sample
	recent  uint64 // counted in the last sample
	minute  [samplesPerMinute]uint64
	hour    [minutesPerHour]uint64
	partial uint64 // of the minute that is not over
}

// rate is one counter's rates, in events a second.
type rate struct {
	Recent float64 `json:"rate_5s"`
	Minute float64 `json:"rate_minute"`
	Hour   float64 `json:"rate_hour"`
}

// take takes a sample of all counters. It is to be called each statisticsInterval.
func (v *coverage) take(values map[string]uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.rates == nil {
		v.rates = map[string]*coverageRates{}
	}
	slot := v.sample % samplesPerMinute
	v.sample++
	for name, n := range values {
		r := v.rates[name]
		if r == nil {
			r = &coverageRates{}
			v.rates[name] = r
		}
		r.recent = 0
		if n > r.last { // some go back, when what they count on is removed
			r.recent = n - r.last
		}
		r.last = n
		r.minute[slot] = r.recent
		r.partial += r.recent
		if slot == samplesPerMinute-1 {
			r.hour[v.sample/samplesPerMinute%minutesPerHour] = r.partial
			r.partial = 0
		}
	}
}

// of returns a counter's rates.
func (v *coverage) of(name string) rate {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.rates[name]
	if r == nil {
		return rate{}
	}
	var minute, hour uint64
	for _, n := range r.minute {
		minute += n
	}
	for _, n := range r.hour {
		hour += n
	}
	return rate{
		float64(r.recent) / statisticsInterval.Seconds(),
		float64(minute) / 60,
		float64(max(hour, minute)) / 3600,
	}
}
