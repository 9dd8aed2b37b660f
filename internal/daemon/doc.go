// Package daemon is gvswitchd: it connects the configuration database, the datapath, the devices and the command socket, and starts and
// stops them in the right order.
//
// The switch is a client of its configuration database even when it serves that database itself, so that there is one way for a change to
// arrive (docs/decisions/0004-daemon-is-a-client.md). A change of the rows becomes a desired.State (package desired), the reconciler makes the
// datapath so (package reconcile), and what has become of it goes back into the rows (package status).
//
// It refuses to know how a packet is switched and how a device works.
//
// Concurrency: one goroutine, the loop, owns the reconciler and writes to the database. Everything else, the commands, devices' events
// and signals, either reads what the loop publishes or sends it a wake-up.
package daemon
