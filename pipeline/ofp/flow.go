package ofp

import "github.com/gvswitch/gvswitch/flow"

// DefaultPriority is that of a flow whose text gives none.
const DefaultPriority = 0x8000

// Flags of a flow (OpenFlow 1.3, ofp_flow_mod_flags).
const (
	SendFlowRem  uint16 = 1 << iota // accepted with a warning: there is nobody to tell
	CheckOverlap                    // refuse to add a flow that overlaps with one of the same priority
	ResetCounts                     // a modification resets the counters
	NoPktCounts                     // packets need not be counted
	NoByteCounts                    // bytes need not be counted
)

// Flow is a flow entry as it is asked for.
type Flow struct {
	Table      uint8
	Priority   uint16
	Cookie     uint64
	Match      flow.Match
	Actions    []Action
	Idle, Hard uint16 // seconds without packets, and at all, until it goes; 0: it stays
	Importance uint16
	Flags      uint16
}

// Command is what a FlowMod does.
type Command uint8

// The commands (OpenFlow 1.3, ofp_flow_mod_command). Modify changes what it finds; as in Open vSwitch
// it adds the flow if it finds none, unless it is asked for by cookie.
const (
	Add Command = iota
	Modify
	ModifyStrict
	Delete
	DeleteStrict
)

// FlowMod is a change of flow tables. In a filter, the commands that are not Add, a flow is
// meant if it has Cookie in the bits of CookieMask, outputs to OutPort and OutGroup
// (unless PortNone, GroupAny), is in Flow.Table (or that is TableAll), and its match is as
// specific as Flow.Match (strict: is Flow.Match, with the same priority).
//
// A modification that finds nothing adds the flow (to table 0 if that is TableAll), unless CookieMask is not 0.
// If SetCookie, it gives what it changes or adds the cookie NewCookie.
type FlowMod struct {
	Command    Command
	Flow       Flow
	CookieMask uint64
	NewCookie  uint64
	SetCookie  bool
	OutPort    uint32
	OutGroup   uint32
}
