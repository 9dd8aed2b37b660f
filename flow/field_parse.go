package flow

import "errors"

// PortNames knows the names of a bridge's ports. A nil PortNames knows none.
type PortNames interface {
	// PortNumber is the number of the port with this name.
	PortNumber(name string) (uint32, bool)
	// PortName is the name of the port with this number, "" if it is to be shown as a number.
	PortName(n uint32) string
}

var errNoText = errors.New("not read yet")

// Parse reads a value of f, and the mask behind its slash if there is one; without, mask is All.
func (f *Field) Parse(text string, n PortNames) (v, mask Value, err error) {
	return Value{}, Value{}, errNoText
}

// Append appends a value of f as ovs-ofctl writes it in actions, with the mask behind a slash
// unless that is All.
func (f *Field) Append(b []byte, v, mask Value, n PortNames) []byte { return b }
