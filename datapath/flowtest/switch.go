package flowtest

// Switch is what cases are run on. Its errors are of the switch's making, except that a Command
// may fail because it is meant to.
type Switch interface {
	// Build makes the switch new, with these bridges.
	Build(bridges []Bridge) error
	// Commands does commands on a bridge, in order; it may do them at once.
	Commands(bridge string, list []Command) error
	// Send has the frames received in one burst, and gives what was sent at each port in consequence, in order.
	Send(at PortRef, frames []Frame) (map[PortRef][][]byte, error)
	// Flows are the flows of a filter as "ovs-ofctl --no-stats dump-flows" prints them, without blanks around.
	Flows(bridge, filter string) ([]string, error)
	// Count sums up the flows of a filter.
	Count(bridge, filter string) (packets, bytes int, err error)
	// MACs are the bridge's addresses, each "PORT VLAN MAC".
	MACs(bridge string) ([]string, error)
	// Flush forgets them.
	Flush(bridge string) error
	// Wait lets seconds go by.
	Wait(seconds int) error
	// Close ends the switch.
	Close() error
}

// Explainer is a Switch that can say why.
type Explainer interface {
	// Explain says what the switch decides for the frame, without effects.
	Explain(at PortRef, f Frame) (Explanation, error)
}

// Explanation is why a frame goes where it goes.
type Explanation struct {
	Megaflow string // as dpctl/dump-flows prints it
	Actions  string
	Reason   string // of a drop
	// Looks tells how many bits of a field the decision depends on; false: there is no such field.
	Looks func(field string) (bits int, ok bool)
}
