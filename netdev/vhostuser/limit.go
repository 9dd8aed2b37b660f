package vhostuser

import "time"

// limiter lets a few log lines through and counts the rest.
type limiter struct {
	since   time.Time
	n       int
	skipped int
}

const (
	logBurst = 5
	logEvery = 10 * time.Second
)

// allow tells whether a line may be logged now, and how many were not since the
// last one.
func (l *limiter) allow() (ok bool, skipped int) {
	if now := time.Now(); now.Sub(l.since) > logEvery {
		l.since, l.n = now, 0
	}
	if l.n++; l.n > logBurst {
		l.skipped++
		return false, 0
	}
	skipped, l.skipped = l.skipped, 0
	return true, skipped
}

// bucket bounds how often a guest can make the switch work for it alone: a burst at
// once, then one each so often. Without it a guest could keep all poll threads
// busy with new configurations, or stop them by garbage to collect.
type bucket struct {
	burst int
	every time.Duration
	used  int
	at    time.Time
}

// What is bounded. A guest of 128 queue pairs starts with some 2000 messages.
func startPace() bucket      { return bucket{burst: 256, every: 2 * time.Millisecond} }
func messagePace() bucket    { return bucket{burst: 8192, every: 100 * time.Microsecond} }
func controlPace() bucket    { return bucket{burst: 256, every: 2 * time.Millisecond} }
func connectionPace() bucket { return bucket{burst: 128, every: 5 * time.Millisecond} }

// take waits for a turn by means of pause, and reports what that reports.
func (b *bucket) take(pause func(time.Duration) bool) bool {
	now := time.Now()
	back := now.Sub(b.at) / b.every
	if b.used -= int(min(back, time.Duration(2*b.burst))); b.used <= 0 {
		b.used, b.at = 0, now
	} else {
		b.at = b.at.Add(back * b.every)
	}
	if b.used++; b.used <= b.burst {
		return true
	}
	return pause(time.Duration(b.used-b.burst) * b.every)
}
