package rules

import "github.com/gvswitch/gvswitch/flow"

// Shape says what the rules of a bridge look at, so that the datapath can take a shorter way.
type Shape struct {
	Version    uint64
	Rules      int
	OnlyNormal bool     // the only rule is in table 0, matches all, and its only action is NORMAL
	Normal     bool     // some rule or bucket outputs to NORMAL, FLOOD or ALL
	Learn      bool     // some rule learns
	Looks      flow.Key // bits that a match or an action (not NORMAL) of any table or group looks at
	Tables     []TableShape
}

// TableShape is Shape for a table that has rules.
type TableShape struct {
	Table uint8
	Rules int
	Masks int      // how many different ones
	Looks flow.Key // union of the masks
}

// Shape is the present shape. It is not to be changed. It may say more than is needed, never less, for
// all versions up to its own.
func (t *Tables) Shape() *Shape { return &Shape{} }
