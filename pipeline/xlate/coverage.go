package xlate

import "sync/atomic"

// Coverage counts events by the names that Open vSwitch's coverage counters have. All threads count
// here; none of it is on the way of a packet that needs no translation.
var Coverage = [...]struct {
	Name  string
	Count atomic.Uint64
}{
	covActions:     {Name: "xlate_actions"},
	covOversize:    {Name: "xlate_actions_oversize"},
	covDepth:       {Name: "drop_action_recursion_too_deep"},
	covResubmits:   {Name: "drop_action_too_many_resubmit"},
	covStack:       {Name: "drop_action_stack_too_deep"},
	covMPLS:        {Name: "drop_action_too_many_mpls_labels"},
	covPipeline:    {Name: "drop_action_of_pipeline"},
	covForwarding:  {Name: "drop_action_forwarding_disabled"},
	covUnsupported: {Name: "drop_action_unsupported_packet_type"},
}

const (
	covActions = iota
	covOversize
	covDepth
	covResubmits
	covStack
	covMPLS
	covPipeline
	covForwarding
	covUnsupported
)

func count(c int) { Coverage[c].Count.Add(1) }
