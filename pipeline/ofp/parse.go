package ofp

import "errors"

var errUnfinished = errors.New("not yet")

// ParseFlow reads one flow in ovs-ofctl's syntax. For Add and Modify there must be actions, for Delete,
// and so for filters (of dump-flows), there must not. n may be nil.
func ParseFlow(text string, n Names, cmd Command) (FlowMod, error) {
	return FlowMod{}, errUnfinished
}

// ParseFlows reads a file of flows, as add-flows does: one a line, "#" begins a comment, and a line may start with
// "add", "modify", "modify_strict", "delete" or "delete_strict". An error names the line.
func ParseFlows(text string, n Names) ([]FlowMod, error) {
	return nil, errUnfinished
}

// ParseActions reads a list of actions ("output:1,set_field:80->tcp_dst"), without prerequisites being
// checked: that is Flow.Check.
func ParseActions(text string, n Names) ([]Action, error) {
	return nil, errUnfinished
}

// AppendActions writes actions as ovs-ofctl does, "drop" if there are none.
func AppendActions(b []byte, a []Action, n Names) []byte {
	return b
}

// Append writes the flow as a line of `ovs-ofctl --no-stats dump-flows`, without the end of the line:
// " cookie=0x5, table=1, priority=10,tcp,in_port=1 actions=output:2".
func (f *Flow) Append(b []byte, n Names) []byte {
	return b
}

// AppendStats writes the flow as a line of `ovs-ofctl dump-flows`, with the given times in
// milliseconds: how long ago it was added, used and (hard) changed.
func (f *Flow) AppendStats(b []byte, n Names, s Stats) []byte {
	return b
}

// Stats is what dump-flows shows of a flow beside the flow.
type Stats struct {
	Packets, Bytes       uint64
	Duration             int64 // ms since it was added
	IdleAge, HardAge     int64 // ms since the last packet, and the last change; -1: not to be shown
	HideDuration, NoCnts bool
}

// Check tells what is wrong with the flow, if anything: actions whose fields the match does not promise,
// fields that are read-only, goto_table backwards. ParseFlow has done it.
func (f *Flow) Check() error {
	return nil
}

// ParsePort reads a port: a number, a reserved name in any case, or a name.
func ParsePort(text string, n Names) (uint32, bool) {
	return 0, false
}

// AppendPort writes a port.
func AppendPort(b []byte, port uint32, n Names) []byte {
	return b
}
