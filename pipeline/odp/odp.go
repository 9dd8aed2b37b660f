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
	// packet's headers, and keeps its checksums right. Of WordMPLS that is the outer entry; never
	// WordVLAN. WordMark's and WordQueue's bits are no headers: they go with the packet.
	Set
	// PushVLAN pushes an outer tag: Value is TPID<<16 | TCI.
	PushVLAN
	// PopVLAN takes the outer tag off.
	PopVLAN
	// PushMPLS pushes a label stack entry behind the VLAN tags: Value is the EtherType<<32 | entry.
	PushMPLS
	// PopMPLS takes one off; Value is the EtherType that is left.
	PopMPLS
	// Meter counts the packet against meter Port, an index of the list's meters; Value is its number in
	// OpenFlow. A packet that it refuses goes on at index Jump, the end of the clone, bucket or
	// patch that the meter is in, or, if that is 0, is dropped.
	Meter
	// Trunc cuts what the next Output sends to Value bytes.
	Trunc
	// CheckLen goes on at index Jump if the packet, without its VLAN tags, is not longer than
	// Value bytes.
	CheckLen
	// Goto goes on at index Jump, which is behind this one.
	Goto
	// Patch counts the packet out of patch port Port and into its peer Value, whose bridge does
	// what is before index Jump. A Drop in there ends only that.
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
