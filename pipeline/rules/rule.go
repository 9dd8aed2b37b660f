package rules

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// Rule is a flow in a table. What is exported never changes.
type Rule struct {
	Actions    []ofp.Action
	Cookie     uint64
	Priority   uint16
	Idle, Hard uint16
	Importance uint16
	Flags      uint16
	Table      uint8
}

// Match is what the rule asks of a packet.
func (r *Rule) Match() flow.Match { return flow.Match{} }

// Flow is the flow that the rule came from. Its match is made anew, the actions are shared.
func (r *Rule) Flow() ofp.Flow {
	return ofp.Flow{
		Table: r.Table, Priority: r.Priority, Cookie: r.Cookie, Match: r.Match(), Actions: r.Actions,
		Idle: r.Idle, Hard: r.Hard, Importance: r.Importance, Flags: r.Flags,
	}
}

// Add counts packets that the rule matched; now, in milliseconds, is when the last of them
// came. Any thread may call it.
func (r *Rule) Add(packets, bytes uint64, now int64) {}

// Packets, Bytes are what was counted.
func (r *Rule) Packets() uint64 { return 0 }

// Bytes is what was counted.
func (r *Rule) Bytes() uint64 { return 0 }

// Used is when the last packet came, in milliseconds; the creation if none did.
func (r *Rule) Used() int64 { return 0 }

// Created is when the flow was added, in milliseconds.
func (r *Rule) Created() int64 { return 0 }

// Gone tells whether the rule is no longer there in a version.
func (r *Rule) Gone(version uint64) bool { return false }
