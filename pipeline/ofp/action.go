package ofp

import "github.com/gvswitch/gvswitch/flow"

// Action is one action or instruction. Instructions of OpenFlow 1.1 and later (meter,
// write_actions, goto_table, ...) stand among the actions, as in ovs-ofctl. The types are those of
// this file; all of them are plain values, and none is a pointer.
type Action interface{ isAction() }

// Subfield is some bits of a field.
type Subfield struct {
	Field *flow.Field
	Ofs   uint16 // the first bit, from the least significant
	Bits  uint16 // how many
}

// The actions, in the order of ovs-actions(7).
type (
	// Output sends the packet to a port, at most MaxLen bytes of it unless that is 0. Port
	// may be reserved: NORMAL, FLOOD, ALL, IN_PORT, LOCAL, CONTROLLER, TABLE, NONE.
	Output struct {
		Port   uint32
		MaxLen uint32
	}
	// OutputReg sends to the port whose number is in Src, MaxLen as in Output.
	OutputReg struct {
		Src    Subfield
		MaxLen uint32
	}
	// Controller would send the packet to a controller. There is none: it does nothing.
	Controller struct {
		MaxLen   uint16
		ID       uint16
		Reason   uint8 // enum ofp_packet_in_reason
		Pause    bool
		Meter    uint32 // 0: none
		Userdata []byte
	}
	// Group has the packet processed by a group.
	Group struct{ ID uint32 }
	// Enqueue is SetQueue, Output and PopQueue.
	Enqueue struct{ Port, Queue uint32 }
	// SetQueue sets the queue that later outputs use, PopQueue takes it back.
	SetQueue struct{ ID uint32 }
	// PopQueue ends a SetQueue.
	PopQueue struct{}
	// Bundle sends to one of the members, or stores its number in Dst if there is one
	// (bundle_load). Algorithm is "active_backup" or "hrw", Fields "eth_src", "symmetric_l4",
	// "symmetric_l3l4", "symmetric_l3l4+udp", "symmetric_l3", "nw_src" or "nw_dst".
	Bundle struct {
		Fields    string
		Basis     uint16
		Algorithm string
		Members   []uint32
		Dst       Subfield // Field nil: none
	}
	// Multipath stores in Dst the number of a link, 0 to Links-1, chosen by a hash. Algorithm is
	// "modulo_n", "hash_threshold", "hrw" or "iter_hash".
	Multipath struct {
		Fields    string
		Basis     uint16
		Algorithm string
		Links     uint16
		Arg       uint32
		Dst       Subfield
	}

	// SetField sets the bits of Mask in Field. Form says how it was written. With FormMod, tcp_src
	// and tcp_dst mean the ports of TCP, UDP or SCTP, whichever the packet has (mod_tp_src without
	// a match on the protocol; with one, Field is that protocol's).
	SetField struct {
		Field       *flow.Field
		Value, Mask flow.Value // Value is zero where Mask is
		Form        Form
	}
	// Move copies bits.
	Move struct{ Src, Dst Subfield }
	// StackPush and StackPop move bits to and from the stack.
	StackPush struct{ Sub Subfield }
	// StackPop is the other half of StackPush.
	StackPop struct{ Sub Subfield }
	// SetVLANVID and SetVLANPCP are mod_vlan_vid and mod_vlan_pcp: on a packet without
	// a tag they push one, unless Only (set_vlan_vid, set_vlan_pcp): then they do nothing.
	SetVLANVID struct {
		VID  uint16
		Only bool
	}
	// SetVLANPCP sets the priority.
	SetVLANPCP struct {
		PCP  uint8
		Only bool
	}
	// PopVLAN is pop_vlan of the outer tag, if any. Strip: it was written strip_vlan.
	PopVLAN struct{ Strip bool }
	// PushVLAN pushes a tag of VLAN 0 and priority 0.
	PushVLAN struct{ TPID uint16 }
	// PushMPLS pushes a label stack entry, PopMPLS takes one off, leaving EthType.
	PushMPLS struct{ EthType uint16 }
	// PopMPLS is the other half of PushMPLS.
	PopMPLS struct{ EthType uint16 }
	// DecTTL decrements the IP TTL or hop limit; a packet with one of 0 or 1 goes no further.
	// IDs are the controllers that would hear of it.
	DecTTL struct{ IDs []uint16 }
	// SetMPLSTTL and DecMPLSTTL work on the outer entry.
	SetMPLSTTL struct{ TTL uint8 }
	// DecMPLSTTL is DecTTL for the outer entry.
	DecMPLSTTL struct{}
	// SetTunnel is set_tunnel, and set_tunnel64 if Long.
	SetTunnel struct {
		ID   uint64
		Long bool
	}

	// CheckPktLarger stores 1 in Dst if the packet is longer than Len bytes, else 0.
	CheckPktLarger struct {
		Len uint16
		Dst Subfield
	}
	// Resubmit searches Table (TableAll: the present one) with in_port Port (PortInPort: the present
	// one), does what is found, and comes back. CT asks for the connection's original tuple to
	// be used in the search.
	Resubmit struct {
		Port  uint32
		Table uint8
		CT    bool
	}
	// Clone does Actions on a copy of the packet.
	Clone struct{ Actions []Action }
	// Learn adds or changes a flow.
	Learn struct {
		Idle, Hard       uint16 // seconds, 0: for ever
		Priority         uint16
		Cookie           uint64
		Flags            uint16 // of the new flow, as Flow.Flags: SendFlowRem or 0
		Table            uint8
		FinIdle, FinHard uint16
		Limit            uint32   // flows with this cookie and table, 0: any number
		Result           Subfield // set to 1 if it was learned, Field nil: nowhere
		Specs            []LearnSpec
		DeleteLearned    bool // when the flow with this action goes, what it learned goes too
	}
	// Conjunction says that the flow is dimension Clause (from 0) of N of conjunctive match ID.
	Conjunction struct {
		ID        uint32
		Clause, N uint8
	}
	// FinTimeout cuts the flow's timeouts when a TCP FIN or RST has been seen; 0: not that one.
	FinTimeout struct{ Idle, Hard uint16 }
	// Note does nothing.
	Note struct{ Data []byte }
	// Sample would sample the packet for IPFIX. It does nothing. Text is its arguments.
	Sample struct{ Text string }
	// Exit ends the processing of all tables.
	Exit struct{}
	// CT is connection tracking's ct(...), CTClear ct_clear; Text is the arguments, in
	// the order and form in which they are printed.
	CT struct{ Text string }
	// CTClear forgets what connection tracking said.
	CTClear struct{}

	// Meter has the packet counted against a meter, which may drop it.
	Meter struct{ ID uint32 }
	// ClearActions empties the action set, WriteActions adds to it.
	ClearActions struct{}
	// WriteActions merges Actions into the action set.
	WriteActions struct{ Actions []Action }
	// WriteMetadata sets bits of the metadata field.
	WriteMetadata struct{ Value, Mask uint64 }
	// GotoTable goes on with a later table, after all other actions.
	GotoTable struct{ Table uint8 }
)

// Form is how a SetField was written, which is how it is printed.
type Form uint8

// The forms.
const (
	FormSetField Form = iota // set_field:VALUE[/MASK]->FIELD
	FormLoad                 // load:VALUE->FIELD[..]; Mask is one run of bits
	FormMod                  // mod_dl_src, set_mpls_label and so on: FIELD says which
)

// LearnSpec is one match or action of what Learn adds. If Src's field is nil, the source is Value.
// Exactly one kind of destination applies.
type LearnSpec struct {
	Kind  LearnKind
	Bits  uint16
	Src   Subfield
	Value flow.Value
	Dst   Subfield // not with LearnOutput
}

// LearnKind is what a LearnSpec makes.
type LearnKind uint8

// The kinds.
const (
	LearnMatch  LearnKind = iota // the new flow matches Dst = source
	LearnLoad                    // the new flow has an action that sets Dst to the source
	LearnOutput                  // the new flow has an action that outputs to the port in the source
)

func (Output) isAction()         {}
func (OutputReg) isAction()      {}
func (Controller) isAction()     {}
func (Group) isAction()          {}
func (Enqueue) isAction()        {}
func (SetQueue) isAction()       {}
func (PopQueue) isAction()       {}
func (Bundle) isAction()         {}
func (Multipath) isAction()      {}
func (SetField) isAction()       {}
func (Move) isAction()           {}
func (StackPush) isAction()      {}
func (StackPop) isAction()       {}
func (SetVLANVID) isAction()     {}
func (SetVLANPCP) isAction()     {}
func (PopVLAN) isAction()        {}
func (PushVLAN) isAction()       {}
func (PushMPLS) isAction()       {}
func (PopMPLS) isAction()        {}
func (DecTTL) isAction()         {}
func (SetMPLSTTL) isAction()     {}
func (DecMPLSTTL) isAction()     {}
func (SetTunnel) isAction()      {}
func (CheckPktLarger) isAction() {}
func (Resubmit) isAction()       {}
func (Clone) isAction()          {}
func (Learn) isAction()          {}
func (Conjunction) isAction()    {}
func (FinTimeout) isAction()     {}
func (Note) isAction()           {}
func (Sample) isAction()         {}
func (Exit) isAction()           {}
func (CT) isAction()             {}
func (CTClear) isAction()        {}
func (Meter) isAction()          {}
func (ClearActions) isAction()   {}
func (WriteActions) isAction()   {}
func (WriteMetadata) isAction()  {}
func (GotoTable) isAction()      {}
