// Package reconcile makes the datapath what a desired.State says, by the smallest change: it keeps what it made (bridges, ports, devices),
// compares, and applies the difference. A change that fails leaves what ran before running, and is remembered with its reason and tried
// again: at the next change of the configuration, and by itself after a time that grows from one second to thirty.
//
// It refuses to know the database and the commands: the caller brings the state and takes the results (Results, Directory).
//
// Concurrency: Apply, Retry and Close belong to one goroutine. Directory may be called from any; what it returns is never changed, and the
// datapath's objects in it may be asked for their counters even after they were removed.
package reconcile
