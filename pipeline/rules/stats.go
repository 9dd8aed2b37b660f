package rules

// TableStats are the counters of a table.
type TableStats struct {
	Table            uint8
	Rules            int
	Masks            int
	Lookups, Matches uint64
	IdleRemoved      uint64 // by timeouts
	HardRemoved      uint64
	Limit            int // flows at most, 0: no limit
}

// Stats are the counters of all tables that have or had rules.
func (t *Tables) Stats() (all []TableStats) {
	for i := range t.tables {
		if tb := t.tables[i].Load(); tb != nil {
			all = append(all, TableStats{
				Table: uint8(i), Rules: int(tb.rules.Load()), Masks: len(*tb.subs.Load()),
				Lookups: tb.lookups.Load(), Matches: tb.matches.Load(),
				IdleRemoved: tb.idle.Load(), HardRemoved: tb.hard.Load(), Limit: int(tb.limit.Load()),
			})
		}
	}
	return all
}

// SetLimit sets how many flows a table may have at most, 0: any number. Flows
// that are there stay.
func (t *Tables) SetLimit(table uint8, n int) {
	t.lockSmall()
	t.table(table).limit.Store(int64(n))
	t.mu.Unlock()
}

// Rules is how many rules all tables have.
func (t *Tables) Rules() (n int) {
	for i := range t.tables {
		if tb := t.tables[i].Load(); tb != nil {
			n += int(tb.rules.Load())
		}
	}
	return n
}
