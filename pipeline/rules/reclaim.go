package rules

import (
	"time"
)

// limbo are the rules that went but are still in their tables, in the order in which they went.
type limbo struct {
	graves []grave
	first  int // graves before are empty
}

// grave are rules that went in one version. It may be opened at a time since Tables.start.
type grave struct {
	rules   []*Rule
	version uint64
	at      time.Duration
}

// bury keeps rules that went for those who still look at older versions. Preconditions: mu.
func (t *Tables) bury(rules []*Rule, version uint64) {
	if len(rules) != 0 {
		t.limbo.graves = append(t.limbo.graves, grave{rules, version, time.Since(t.start) + t.grace})
	}
}

// reclaimPiece takes some rules out of their tables that went long enough ago, and tells whether
// there may be more. Preconditions: mu.
func (t *Tables) reclaimPiece() bool {
	l := &t.limbo
	if l.first == len(l.graves) || t.pins.Load() != 0 {
		return false
	}
	g := &l.graves[l.first]
	if time.Since(t.start) < g.at {
		return false
	}
	if t.reclaimed.Load() < g.version {
		t.reclaimed.Store(g.version) // before anything is gone: see Valid
	}
	n := min(piece, len(g.rules))
	for _, r := range g.rules[:n] {
		t.unlinked(r)
		t.tables[r.Table].Load().unlink(r)
	}
	for _, r := range g.rules[:n] {
		t.tables[r.Table].Load().flush()
	}
	if g.rules = g.rules[n:]; len(g.rules) > 0 {
		return true
	}
	*g = grave{}
	if l.first++; l.first == len(l.graves) || l.first > 1024 {
		l.graves = append(l.graves[:0:0], l.graves[l.first:]...)
		l.first = 0
	}
	return true
}

// reclaim takes out all rules that went long enough ago.
func (t *Tables) reclaim() {
	for more := true; more; {
		t.lockPiece()
		more = t.reclaimPiece()
		t.mu.Unlock()
	}
}
