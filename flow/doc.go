// Package flow is what the switch decides by: the Key of a packet, how it is
// extracted from any bytes at all, its hash, and its text forms.
//
// Extract is total. Every frame has a key; a header that is broken or cut off
// leaves its fields, and those of everything behind it, zero, as Open vSwitch
// has it. A frame is read in the packet's own head only: what lies beyond is
// pulled in first, so nobody can change it after the decision.
//
// Format and its kin write keys as ovs-ofctl and ovs-dpctl do; Parse and Compose
// read both forms. They are for people, tests and commands, and live in files
// of their own: nothing on a packet's way uses them.
//
// The package refuses to know masks, rules and actions, and where
// packets come from. A Key is a plain value; nothing here is shared.
package flow
