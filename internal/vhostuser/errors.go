package vhostuser

import (
	"errors"
	"fmt"
)

// What a message that cannot be obeyed leads to.
type severity uint8

const (
	// ignored: said so if a reply is asked for, else nothing happens. For what the
	// back end does not know or did not offer.
	ignored severity = iota
	// refused: said so if a reply is asked for. Else the front end would go on as if
	// it had worked, so the connection ends.
	refused
	// fatal: the two sides do not speak the same protocol any more, so the
	// connection ends.
	fatal
)

// messageError is why a message was not obeyed.
type messageError struct {
	severity severity
	err      error
}

func (e *messageError) Error() string { return e.err.Error() }
func (e *messageError) Unwrap() error { return e.err }

func protocolErrorf(format string, args ...any) error {
	return &messageError{fatal, fmt.Errorf(format, args...)}
}

func refusef(format string, args ...any) error {
	return &messageError{refused, fmt.Errorf(format, args...)}
}

func ignoref(format string, args ...any) error {
	return &messageError{ignored, fmt.Errorf(format, args...)}
}

// severityOf is what err leads to; an error of a Device refuses the message.
func severityOf(err error) severity {
	var e *messageError
	if errors.As(err, &e) {
		return e.severity
	}
	return refused
}
