package daemon

import (
	"encoding/json"
	"testing"
)

// A counter that goes by 10 a sample has a rate of 2 a second in all three averages once they are full, and counters that go back do not make rates negative.
func TestCoverageRates(t *testing.T) {
	var v coverage
	if r := v.of("a"); r != (rate{}) {
		t.Errorf("before the first sample: %v", r)
	}
	total := uint64(0)
	for i := range samplesPerMinute * minutesPerHour {
		total += 10
		v.take(map[string]uint64{"a": total, "b": 3})
		if i == 0 {
			if r := v.of("a"); r != (rate{2, 10.0 / 60, 10.0 / 3600}) {
				t.Errorf("after one sample: %v", r)
			}
		}
	}
	if r := v.of("a"); r != (rate{2, 2, 2}) {
		t.Errorf("after an hour: %v", r)
	}
	if r := v.of("b"); r != (rate{0, 0, 3.0 / 3600}) {
		t.Errorf("b: %v", r)
	}
	v.take(map[string]uint64{"a": 5, "b": 3})
	if r := v.of("a"); r.Recent != 0 || r.Minute < 1.8 || r.Minute > 2 {
		t.Errorf("after it went back: %v", r)
	}
	for range samplesPerMinute * minutesPerHour {
		v.take(map[string]uint64{"a": 5})
	}
	if r := v.of("a"); r.Minute != 0 || r.Hour != 0 {
		t.Errorf("after an hour of nothing: %v", r)
	}
}

// The values for programs have the total and the rates beside each other.
func TestCoverageValue(t *testing.T) {
	got, err := json.Marshal(coverageValue{7, rate{1, 2, 3}})
	if want := `{"total":7,"rate_5s":1,"rate_minute":2,"rate_hour":3}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}
