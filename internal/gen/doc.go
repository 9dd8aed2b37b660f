// Package gen generates traffic over devices of the contract netdev, takes what comes back, and says what became of it: how
// much was sent and received, what was lost, came twice, out of order or changed, and how old it was.
//
// A Traffic says what a port sends. A Stream makes its frames in the packets of a burst that is used again and again: the
// headers stand there from the beginning and only what changes is written. Each frame carries a mark (mark.go) by which a
// Checker knows it again. A Bench has the ports, and runs one Trial after another; Search looks for the highest rate by
// trials.
//
// The package refuses to know what kind of device a port is and how the program is told what to do; but its errors name the
// program's options, as OptionError.
//
// A worker (worker.go) is a goroutine locked to its thread that polls some queues of the ports for the time of a trial. It
// allocates nothing. A Stream and a Pacer belong to one worker; a Checker to one port and to the workers of all its queues,
// which lock it once a burst. What is shown while a trial runs is read from counters.
package gen

import "fmt"

// OptionError says that an option has a value that cannot be used.
type OptionError struct {
	Option string // without dashes
	Value  string
	Reason string
}

// Error implements error.
func (e *OptionError) Error() string {
	return fmt.Sprintf("--%s %s: %s", e.Option, e.Value, e.Reason)
}

// refuse makes an OptionError of any value.
func refuse(option string, value any, format string, args ...any) error {
	return &OptionError{option, fmt.Sprint(value), fmt.Sprintf(format, args...)}
}
