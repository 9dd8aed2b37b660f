package mem

// Counter is a statistic with one writer and any number of readers. It is a
// plain word: an atomic store would cost a locked instruction on amd64 for each
// update, which the hot path cannot afford, and an aligned 64-bit word is
// written in one piece on every platform the switch is built for. The zero
// value is ready.
type Counter struct{ n uint64 }

// Add adds n. Only the counter's one writer may call it.
//
//go:norace
func (c *Counter) Add(n uint64) { c.n += n }

// Load is the current value, perhaps a moment old.
//
//go:norace
func (c *Counter) Load() uint64 { return c.n }
