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

// bucket bounds how often a guest can make all poll threads take up a new
// configuration: a burst at once, then so many a second.
type bucket struct {
	used int
	at   time.Time
}

const (
	paceBurst = 256
	paceEvery = 2 * time.Millisecond
)

// take waits for a turn by means of pause, and reports what that reports.
func (b *bucket) take(pause func(time.Duration) bool) bool {
	now := time.Now()
	back := now.Sub(b.at) / paceEvery
	if b.used -= int(min(back, paceBurst*2)); b.used <= 0 {
		b.used, b.at = 0, now
	} else {
		b.at = b.at.Add(back * paceEvery)
	}
	if b.used++; b.used <= paceBurst {
		return true
	}
	return pause(time.Duration(b.used-paceBurst) * paceEvery)
}
