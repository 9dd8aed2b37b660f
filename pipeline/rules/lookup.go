package rules

import "github.com/gvswitch/gvswitch/flow"

// Scratch is what Lookup needs to work, one per thread. The zero value is ready.
type Scratch struct{}

// Lookup finds the rule of a table for a packet: the one with the highest priority of those that match
// in a version, nil if none does. Every bit of k that it had to look at to know that is
// set in wc: a packet that agrees with k in those bits finds the same rule. A table from
// 255 on has no rules.
func (t *Tables) Lookup(table uint8, version uint64, k, wc *flow.Key, s *Scratch) *Rule {
	return nil
}
