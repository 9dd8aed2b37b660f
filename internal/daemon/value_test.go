package daemon

import (
	"encoding/json"
	"testing"
	"time"
)

func TestValue(t *testing.T) {
	type inner struct {
		Over200us uint64
		Longest   time.Duration
	}
	got, err := json.Marshal(value(map[string]any{"x": []struct {
		NUMA, RxPackets, MACTable int
		Stalls                    inner
		Cycles                    [4]int
		hidden                    int
	}{{1, 2, 3, inner{4, 1500 * time.Microsecond}, [4]int{0, 7}, 9}}}["x"]))
	want := `[{"cycles":[0,7],"mac_table":3,"numa":1,"rx_packets":2,"stalls":{"longest":0.0015,"over200us":4}}]`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
