// Package control is the command channel of a running switch: JSON-RPC 1.0 over a unix socket, in the form that Open vSwitch calls
// unixctl and that ovs-appctl speaks, so that Debian's own ovs-appctl works against it.
//
// A request names a command and carries strings; the reply is one text for people, or, where the client asked for it, a JSON value for
// programs. The package knows how commands are named, checked, run and answered, and where the socket and the pid file lie. It
// refuses to know what any command does, and it does not know the switch.
//
// Concurrency: the commands of one connection run one after the other, in the order in which they were sent, on a goroutine of that
// connection; commands of different connections run at the same time, so handlers lock what they share. A handler that panics, or that
// faults on memory a guest took away, costs its caller an error and nobody else anything.
package control

import "path/filepath"

// Names within a run directory. The second group are the names by which Open vSwitch's own tools look for a switch.
const (
	socketName = "gvswitchd.ctl"
	pidName    = "gvswitchd.pid"

	ovsProgram = "ovs-vswitchd"
	ovsPidName = ovsProgram + ".pid"
)

// Unlimited as the largest number of arguments of a command means that it takes any number.
const Unlimited = -1

// Socket returns the path of the command socket of the switch whose run directory is dir.
func Socket(dir string) string { return filepath.Join(dir, socketName) }

// Result is what a command has to say, in both forms.
type Result struct {
	// Text is for people. The server ends it with a newline where the handler did not.
	Text string

	// Value is for programs; it is encoded by encoding/json when the client asked for JSON. Nil means that the command has a text only.
	Value any
}
