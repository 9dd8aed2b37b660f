package packet

// DropReason says why a frame was lost. Every loss in the switch has one, and
// one counter each; their names are stable and shown to operators.
type DropReason uint8

// The reasons. The rx ones are counted at the port a frame came from, the tx
// ones at the port it was bound for.
const (
	DropNone DropReason = iota

	RxBadChain   // descriptor chain breaks the rules (loop, index, flags, empty)
	RxBadAddress // descriptor points outside the guest's memory
	RxRunt       // shorter than an Ethernet header
	RxTooLong    // longer than MaxFrame
	RxTruncated  // the kernel handed over less than the frame
	RxBadOffload // virtio net header and frame do not fit together
	RxError      // the device reported an error
	RxBadTag     // ends within its VLAN tag
	RxQueueFull  // more frames than can wait for a poll thread

	PortDown       // port or link is administratively down or not ready
	PortFault      // memory behind the port vanished
	VLANNotAllowed // VLAN not carried by the port
	ReservedMAC    // 01:80:c2:00:00:0x is not forwarded by a bridge
	SamePort       // destination is where the frame came from
	NoOutput       // nobody to flood to
	NoMemory       // clone arena full
	NoRoom         // no headroom for a push
	PatchLoop      // passed through too many patch ports
	Protected      // from a protected port to another

	NoRule           // no rule of a table matches
	RuleDrop         // a rule, bucket or action list says so, or has no output
	TooDeep          // resubmits, groups and patches nested too deeply
	TooManyResubmits // one packet caused too many table lookups
	TooManyActions   // the list of what is to be done is too long
	Meter            // beyond a meter's rate
	TTLExpired       // TTL or hop limit would become 0
	CTUnsupported    // a rule asks for connection tracking
	NoSuchPort       // a rule outputs to a port that is not there
	NoSuchGroup      // a rule names a group that is not there
	NoBucket         // no bucket of a group is alive
	PortNoRecv       // the port is configured to receive nothing (no-receive)
	PortNoForward    // all outputs were to ports that send nothing (no-forward)
	ToController     // a rule sends it to a controller, and there is none
	BadHeader        // an action edits a header that is not all there
	MissRate         // the port causes more misses than are translated
	MirrorOutput     // came in by, or is bound for, a port that is reserved for what mirrors send
	Policing         // beyond the rate at which the port may receive (ingress_policing_rate)
	BondInactive     // came in by a member of a bond that is not to be used, or is for another member
	BondReflected    // the bond's own, which came back by another member
	BondDown         // for a bond without a member that can be used
	LACP             // an LACPDU, taken by the switch itself
	LACPRate         // LACPDUs beyond what the switch looks at

	TxRingFull     // receiver has no free buffer
	TxTooLong      // longer than the receiver takes
	TxOversize     // longer than the port's MTU
	TxNotReady     // receiver not attached or its queue not started
	TxBadChain     // receiver's descriptor chain breaks the rules
	TxBadAddress   // receiver's descriptor points outside its memory
	TxError        // the device reported an error
	TxNeedsOffload // receiver cannot take it and software cannot make it fit
	TxFiltered     // the guest does not want it: its receive mode, addresses or VLANs

	NumDropReasons
)

var dropNames = [NumDropReasons]string{
	DropNone:     "none",
	RxBadChain:   "rx_bad_chain",
	RxBadAddress: "rx_bad_address",
	RxRunt:       "rx_runt",
	RxTooLong:    "rx_too_long",
	RxTruncated:  "rx_truncated",
	RxBadOffload: "rx_bad_offload",
	RxError:      "rx_error",
	RxBadTag:     "rx_bad_tag",
	RxQueueFull:  "rx_queue_full",

	PortDown:       "port_down",
	PortFault:      "port_fault",
	VLANNotAllowed: "vlan_not_allowed",
	ReservedMAC:    "reserved_mac",
	SamePort:       "same_port",
	NoOutput:       "no_output",
	NoMemory:       "no_memory",
	NoRoom:         "no_room",
	PatchLoop:      "patch_loop",
	Protected:      "protected",

	NoRule:           "no_rule",
	RuleDrop:         "rule_drop",
	TooDeep:          "too_deep",
	TooManyResubmits: "too_many_resubmits",
	TooManyActions:   "too_many_actions",
	Meter:            "meter",
	TTLExpired:       "ttl_expired",
	CTUnsupported:    "ct_unsupported",
	NoSuchPort:       "no_such_port",
	NoSuchGroup:      "no_such_group",
	NoBucket:         "no_bucket",
	PortNoRecv:       "port_no_receive",
	PortNoForward:    "port_no_forward",
	ToController:     "to_controller",
	BadHeader:        "bad_header",
	MissRate:         "miss_rate",
	MirrorOutput:     "mirror_output",
	Policing:         "policing",
	BondInactive:     "bond_inactive",
	BondReflected:    "bond_reflected",
	BondDown:         "bond_down",
	LACP:             "lacp",
	LACPRate:         "lacp_rate",

	TxRingFull:     "tx_ring_full",
	TxTooLong:      "tx_too_long",
	TxOversize:     "tx_oversize",
	TxNotReady:     "tx_not_ready",
	TxBadChain:     "tx_bad_chain",
	TxBadAddress:   "tx_bad_address",
	TxError:        "tx_error",
	TxNeedsOffload: "tx_needs_offload",
	TxFiltered:     "tx_filtered",
}

// String is the reason's counter name.
func (r DropReason) String() string {
	if r < NumDropReasons {
		return dropNames[r]
	}
	return "unknown"
}
