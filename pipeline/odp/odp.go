// Package odp is what a flow of the datapath does with its packets: the flat list that the
// tables' answer is translated to, and the text form of such lists and of megaflows, which is that of
// ovs-appctl dpctl/dump-flows.
//
// It knows no packets and no tables. A list is built once, then never changed.
package odp

import "github.com/gvswitch/gvswitch/packet"

// Op says what an Action does.
type Op uint8

// The operations. Args are those of Action that they use. A packet that comes to the end of the
// list without an Output is dropped under the reason of the list's Drop, if it has one, else
// as NoOutput.
const (
	// Output sends the packet to datapath port Port.
	Output Op = iota
	// Set changes the bits Mask of word Word of the packet's key (flow.WordDst ...) to Value, in the
	// packet's headers, and keeps its checksums right.
	Set
	// PushVLAN pushes a tag: Value is TPID<<16 | TCI.
	PushVLAN
	// PopVLAN takes the outer tag off.
	PopVLAN
	// PushMPLS pushes a label stack entry: Value is the EtherType<<32 | entry.
	PushMPLS
	// PopMPLS takes one off; Value is the EtherType that is left.
	PopMPLS
	// Meter counts the packet against meter Port, a slot number of the datapath's meters.
	Meter
	// Trunc cuts what the next Output sends to Value bytes.
	Trunc
	// CheckLen goes on at index Jump if the packet is not longer than Value bytes.
	CheckLen
	// Goto goes on at index Jump, which is behind this one.
	Goto
	// Patch counts the packet out of patch port Port and into its peer Value.
	Patch
	// Drop ends the list; Reason says why. It only names what happened: there was no output
	// on this way.
	Drop
	// Stop ends the list.
	Stop
)

// Action is one step.
type Action struct {
	Op     Op
	Reason packet.DropReason
	Word   uint16
	Jump   uint16
	Port   uint32
	Value  uint64
	Mask   uint64
}
