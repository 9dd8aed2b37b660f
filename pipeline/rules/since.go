package rules

import (
	"math/bits"
	"sync/atomic"
)

// tagLog is, for each tag, the version in which something with it changed last.
type tagLog [64]atomic.Uint64

// mark notes that version v, which is about to be published, changes what has these tags. Preconditions: mu.
func (l *tagLog) mark(tags, v uint64) {
	for ; tags != 0; tags &= tags - 1 {
		l[bits.TrailingZeros64(tags)].Store(v)
	}
}

// step publishes a version for a change of groups or meters, so that readers notice it.
// Preconditions: mu.
func (t *Tables) step(tags uint64) uint64 {
	v := t.Version() + 1
	t.changed.mark(tags, v)
	t.version.Store(v)
	return v
}

// ChangedSince is the tags of all changes that came after a version: of rules, of groups, and for
// meters those of all tables, for a decision that uses a meter has its table's.
func (t *Tables) ChangedSince(version uint64) uint64 {
	var tags uint64
	for i := range t.changed {
		if t.changed[i].Load() > version {
			tags |= 1 << i
		}
	}
	return tags
}
