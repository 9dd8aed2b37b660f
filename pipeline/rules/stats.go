package rules

import "github.com/gvswitch/gvswitch/pipeline/ofp"

// TableStats are the counters of a table.
type TableStats struct {
	Table            uint8
	Rules            int
	Masks            int
	Lookups, Matches uint64
	IdleRemoved      uint64 // by timeouts
	HardRemoved      uint64
	Deleted          uint64
	Limit            int // flows at most, 0: no limit
}

// Stats are the counters of all tables that have or had rules or lookups.
func (t *Tables) Stats() []TableStats { return nil }

// SetLimit sets how many flows a table may have at most, 0: any number. Flows
// that are there stay.
func (t *Tables) SetLimit(table uint8, n int) {}

// Aggregate sums up the rules that a filter means.
func (t *Tables) Aggregate(filter *ofp.FlowMod) (packets, bytes uint64, flows int) { return 0, 0, 0 }
