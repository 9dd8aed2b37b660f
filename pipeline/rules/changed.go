package rules

// Tags of what a decision depended on. A decision is to be made again if its tags and
// those of a change have a bit in common. Bits 0 to 47 are tables, 48 to 55 groups; FreeTags are for
// others.
const (
	tableTags = 48
	groupTags = 8
	// GroupTags are the bits of all groups.
	GroupTags uint64 = (1<<groupTags - 1) << tableTags
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
	// time: no change, nothing to translate again. Nothing waits for a big change then: flows that lost their
	// last teacher by it go with the next Expire.
	Learn bool
	// Limit refuses an added flow if its table has that many flows with its cookie; 0: none.
	Limit uint32
}

// Changed says what a change changed.
type Changed struct {
	Tags     uint64
	Version  uint64 // in which it can be seen
	Added    int
	Modified int // also those that had to be renewed only
	Removed  int
}

// merge adds a later change.
func (c *Changed) merge(d Changed) {
	c.Tags |= d.Tags
	c.Version = max(c.Version, d.Version)
	c.Added += d.Added
	c.Modified += d.Modified
	c.Removed += d.Removed
}
