package gen

import (
	"time"

	"github.com/gvswitch/gvswitch/internal/cpu"
)

// Clock measures the age of frames by the processor's counter, in ticks of some nanoseconds, so that 32 bits last for ten seconds and more.
type Clock struct {
	hz    uint64
	shift uint8
}

// tickLimit is the longest tick in nanoseconds.
const tickLimit = 8

// NewClock makes the machine's Clock.
func NewClock() Clock { return clockOf(cpu.HZ()) }

func clockOf(hz uint64) Clock {
	c := Clock{hz: hz}
	for uint64(2)<<c.shift*1e9/hz < tickLimit {
		c.shift++
	}
	return c
}

// ticks is a count of cycles in ticks.
func (c Clock) ticks(cycles uint64) uint32 { return uint32(cycles >> c.shift) }

// Duration is the time of so many ticks.
func (c Clock) Duration(ticks uint32) time.Duration {
	return time.Duration(float64(uint64(ticks)<<c.shift) / float64(c.hz) * 1e9)
}

// cycles is a time in cycles.
func (c Clock) cycles(d time.Duration) uint64 { return uint64(d.Seconds() * float64(c.hz)) }

// duration is the time of so many cycles.
func (c Clock) duration(cycles uint64) time.Duration {
	return time.Duration(float64(cycles) / float64(c.hz) * 1e9)
}
