package datapath

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"
)

var keep []byte

// Garbage is collected when the poll threads are idle or the limit is near, and not
// otherwise.
func TestCollector(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	collections := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumGC
	}
	waste := func() {
		for range 16 {
			keep = make([]byte, 1<<20)
		}
	}
	var idle atomic.Bool
	run := func(limit uint64) (stop func()) {
		c := &Collector{quit: make(chan struct{}), done: make(chan struct{})}
		go c.run(time.Millisecond, limit, idle.Load)
		return func() { close(c.quit); <-c.done }
	}
	stop := run(1 << 40)
	time.Sleep(20 * time.Millisecond)
	before := collections()
	waste()
	time.Sleep(50 * time.Millisecond)
	if n := collections(); n != before {
		t.Error("collected while busy and far from the limit")
	}
	idle.Store(true)
	eventually(t, "a collection when idle", func() bool { return collections() > before })
	idle.Store(false)
	stop()

	stop = run(1 << 20) // well above
	time.Sleep(20 * time.Millisecond)
	before = collections()
	waste()
	eventually(t, "a collection near the limit", func() bool { return collections() > before })
	stop()
}
