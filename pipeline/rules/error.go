package rules

import "fmt"

// Error says why a change was refused.
type Error struct {
	Index  int // of the flow mod, from 0
	Reason Reason
	Text   string // what exactly
}

// Reason is a kind of refusal.
type Reason uint8

// The reasons (OpenFlow 1.3, section 7.4.4).
const (
	BadTable Reason = iota
	TableFull
	Overlap
	UnknownGroup
	UnknownMeter
	BadActions
	GroupExists
	MeterExists
	GroupInvalid
	GroupLoop
	LimitReached
)

// Error names the flow mod by its number, from 1.
func (e *Error) Error() string { return fmt.Sprintf("flow %d: %s", e.Index+1, e.Text) }
