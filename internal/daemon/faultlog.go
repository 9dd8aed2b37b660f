package daemon

import (
	"log/slog"
	"sync"
	"time"
)

// faultLog logs that ports were stopped by a fault, in moderation: a guest can do that to its port, and connect again, hundreds of
// times a second. It may be used by several goroutines.
type faultLog struct {
	log   *slog.Logger
	mu    sync.Mutex
	since time.Time
	said  map[string]int // by port, since then
}

const (
	faultBurst = 5 // lines of a port
	faultEvery = 10 * time.Second
)

func newFaultLog(log *slog.Logger) *faultLog { return &faultLog{log: log, said: map[string]int{}} }

func (f *faultLog) say(port, reason string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.since) > faultEvery {
		for p, n := range f.said {
			if n > faultBurst {
				f.log.Error("more faults stopped the port", "port", p, "lines_not_logged", n-faultBurst)
			}
		}
		clear(f.said)
		f.since = now
	}
	if f.said[port]++; f.said[port] <= faultBurst {
		f.log.Error("port stopped by a fault", "port", port, "reason", reason)
	}
}
