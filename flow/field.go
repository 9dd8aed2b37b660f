package flow

// Field is a named part of a Key.
type Field struct {
	Name string // ovs-ofctl's
	Bits int    // at most 128
}
