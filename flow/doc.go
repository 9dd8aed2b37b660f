// Package flow is what the switch decides by: the Key of a packet, how it is
// extracted from any bytes at all, its hash, and its text forms.
//
// Extract is total. Every frame has a key; a header that is broken or cut off
// leaves its fields, and those of everything behind it, zero, as Open vSwitch
// has it. A frame is read in the packet's own head only: what lies beyond is
// pulled in first, so nobody can change it after the decision.
//
// A Field is a named part of a Key. One table has them all: where their bits are, their names, how their
// values are written, and what a packet must be to have them. Whatever reads or writes text, and the
// pipeline's actions, go by it. A Match is a Key with a Mask.
//
// A Match is written as ovs-ofctl does, byte for byte. Format and its kin write keys as ovs-ofctl and
// ovs-dpctl do; Parse and Compose read both forms. Text is for people, tests and commands, and lives in
// files of its own: nothing on a packet's way uses it.
//
// The package refuses to know rules and actions, and where
// packets come from. A Key is a plain value; nothing here is shared, and the table never changes.
//
// Sources: OpenFlow 1.5.1, ovs-fields(7), ovs-ofctl(8).
package flow
