package rules

import (
	"sync"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// Tables are the tables, groups and meters of a bridge. Make them with New.
type Tables struct {
	version   atomic.Uint64 // published; odd steps are nothing special
	reclaimed atomic.Uint64 // versions below this can no longer be looked at
	tables    [ofp.MaxTables]atomic.Pointer[table]

	mu sync.Mutex
}

// table is one flow table.
type table struct{}

// New makes empty tables.
func New() *Tables {
	t := &Tables{}
	t.version.Store(1)
	return t
}

// Version is the newest version.
func (t *Tables) Version() uint64 { return t.version.Load() }

// Valid tells whether what was looked up in a version was right: it is, unless the version was
// replaced so long ago that its rules are gone. Ask at the end of a decision, and
// if it is false, decide again.
func (t *Tables) Valid(version uint64) bool { return version >= t.reclaimed.Load() }

// Tags of what a decision depended on. A decision is to be made again if its tags and
// those of a change have a bit in common. Bits 0 to 47 are tables, 48 to 55 groups; FreeTags are for
// others.
const (
	tableTags = 48
	groupTags = 8
	// FreeTags are the bits that this package does not use.
	FreeTags uint64 = 0xff << 56
)

// TableTag is the bit of a table.
func TableTag(table uint8) uint64 { return 1 << (table % tableTags) }

// GroupTag is the bit of a group.
func GroupTag(id uint32) uint64 { return 1 << (tableTags + id%groupTags) }

// Options says how a change is made.
type Options struct {
	Now int64 // milliseconds, any epoch; the same clock as Rule.Add's and Expire's
	// Learn says that adding a flow that is there, equal in all respects, only renews its
	// time: no change, nothing to translate again.
	Learn bool
	// Limit refuses an added flow if its table has that many flows with its cookie; 0: none.
	Limit uint32
}

// Changed says what a change changed. Rules are the rules that came or went, if they are few;
// Many says that they are not all named.
type Changed struct {
	Tags     uint64
	Version  uint64 // in which it can be seen
	Added    int
	Modified int
	Removed  int
	Rules    []*Rule
	Many     bool
}

// Apply applies flow mods in their order, all or none, in one version step. An error is an *Error.
func (t *Tables) Apply(mods []ofp.FlowMod, o Options) (Changed, error) {
	return Changed{}, nil
}

// Replace makes flows the content of all tables, in one version step. A flow that is there
// already, equal in all respects, keeps its counters. An error is an *Error.
func (t *Tables) Replace(flows []ofp.Flow, o Options) (Changed, error) {
	return Changed{}, nil
}

// Expire removes the rules whose idle or hard timeout has passed.
func (t *Tables) Expire(now int64) Changed { return Changed{} }

// Flows are the rules that a filter (as of Delete and DeleteStrict) means, nil: all; by table, then descending
// priority, then age.
func (t *Tables) Flows(filter *ofp.FlowMod) []*Rule { return nil }
