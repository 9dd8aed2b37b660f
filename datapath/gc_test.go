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
	run := func(limit int64) (stop func()) {
		c := &Collector{quit: make(chan struct{}), done: make(chan struct{})}
		c.limit.Store(limit)
		go c.run(time.Millisecond, idle.Load)
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

// The limit grows with the MAC tables: a large one would leave the collector no room,
// and it would run without end.
func TestLimitGrowsWithTables(t *testing.T) {
	d, b := newSwitch(t)
	const base = 48 << 20
	c := d.StartCollector(base)
	defer c.Stop()
	limit := func() int64 { return debug.SetMemoryLimit(-1) }
	want := func(what string, sizes ...int) {
		t.Helper()
		sum := int64(base)
		for _, n := range sizes {
			sum += macTableBytes(n) + ruleBytes // of NORMAL
		}
		if got := limit(); got != sum {
			t.Errorf("%s: the limit is %d, want %d", what, got, sum)
		}
	}
	want("at first", DefaultMACTableSize)
	if err := b.Configure(BridgeConfig{MACTableSize: MaxMACTableSize}); err != nil {
		t.Fatal(err)
	}
	want("with a large table", MaxMACTableSize)
	if n := len(b.table.slots)*8 + len(b.table.links)*8; int64(n) != macTableBytes(MaxMACTableSize) {
		t.Errorf("a table of %d bytes is thought to have %d", n, macTableBytes(MaxMACTableSize))
	}
	b2, err := d.AddBridge("br1", BridgeConfig{MACTableSize: 100})
	if err != nil {
		t.Fatal(err)
	}
	want("with another bridge", MaxMACTableSize, 100)
	b2.Remove()
	want("without it", MaxMACTableSize)
	if err := b.Configure(BridgeConfig{}); err != nil {
		t.Fatal(err)
	}
	want("at last", DefaultMACTableSize)
}
