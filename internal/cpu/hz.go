package cpu

import (
	"sync"
	"time"
)

// HZ is how many Cycles pass in a second, measured once against the clock.
var HZ = sync.OnceValue(func() uint64 {
	t, c := time.Now(), Cycles()
	time.Sleep(20 * time.Millisecond)
	dc, dt := Cycles()-c, time.Since(t)
	return uint64(float64(dc) / dt.Seconds())
})

// Duration converts a difference of Cycles into time.
func Duration(cycles uint64) time.Duration {
	return time.Duration(float64(cycles) / float64(HZ()) * 1e9)
}
