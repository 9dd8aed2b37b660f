package ofp

import "github.com/gvswitch/gvswitch/flow"

// GroupType is how a group uses its buckets (OpenFlow 1.3, section 5.6.1).
type GroupType uint8

// The types.
const (
	GroupAll          GroupType = iota // every bucket gets a copy
	GroupSelect                        // one by a hash, in proportion to the weights
	GroupIndirect                      // the only one
	GroupFastFailover                  // the first that is alive
)

// Bucket is a list of actions of a group.
type Bucket struct {
	ID         uint32 // unique in the group
	Weight     uint16 // of GroupSelect; 1 unless said otherwise
	WatchPort  uint32 // alive while this port is up; PortNone: always
	WatchGroup uint32 // alive while this group has a live bucket; GroupAny: always
	Actions    []Action
}

// GroupDef is a group as it is asked for.
type GroupDef struct {
	ID        uint32
	Type      GroupType
	Buckets   []Bucket
	Method    string        // selection_method of GroupSelect: "", "hash" or "dp_hash"
	Param     uint64        // selection_method_param
	Fields    []*flow.Field // of Method "hash"; none: all that Method takes by itself
	FieldMask []flow.Value  // of each of Fields
}

// MeterDef is a meter as it is asked for (OpenFlow 1.3, section 5.7).
type MeterDef struct {
	ID      uint32
	Packets bool // rates are packets per second, else kilobits per second
	Burst   bool // the bands have a burst size
	Stats   bool
	Bands   []Band
}

// Band is a band of a meter: packets beyond Rate are dropped, or their DSCP's drop precedence
// raised by Prec if that is not 0.
type Band struct {
	Rate  uint32 // kbit/s or packets/s
	Burst uint32 // kbit or packets; 0: the switch chooses
	Prec  uint8
}
