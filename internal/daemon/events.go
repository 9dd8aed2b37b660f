package daemon

import "sync/atomic"

// eventCounters counts what the control code did, for coverage/show.
type eventCounters struct {
	reconfigured atomic.Uint64 // changes of the configuration applied
	written      atomic.Uint64 // transactions written back
	portChanged  atomic.Uint64 // changes that devices announced
	portFault    atomic.Uint64 // ports stopped by a fault
}

func (e *eventCounters) each(add func(name string, n uint64)) {
	add("config_reconfigured", e.reconfigured.Load())
	add("config_written", e.written.Load())
	add("port_changed", e.portChanged.Load())
	add("port_fault", e.portFault.Load())
}
