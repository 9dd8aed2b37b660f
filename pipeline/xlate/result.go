package xlate

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// Input is a packet to translate.
type Input struct {
	Bridge Bridge
	// Key is the packet's; its in_port is the OpenFlow number.
	Key flow.Key
	// Len is the frame's length in bytes. Nothing depends on it.
	Len uint32
	Now int64 // milliseconds, as in rules.Options
	// Effects says that the packet is a real one: learn actions are done and addresses learned.
	Effects bool
	// Actions, if it is not nil, is what is to be done, instead of what table 0 says.
	Actions []ofp.Action
	// Trace, if it is not nil, gets an account.
	Trace *Trace
}

// Result is a translation. It and all in it are valid until the next Run.
type Result struct {
	// Mask has the bits of the packet's key that the list depends on; in_port's are among them
	// only if it was looked at. There are none behind flow.PacketWords.
	Mask flow.Key
	// Actions is what to do. Output's Port is Port.ID; Meter's is an index of Meters. A list
	// that outputs nowhere ends in a Drop.
	Actions []odp.Action
	Rules   []*rules.Rule // that the packet hits, as often as it does
	Groups  []*rules.Group
	Buckets []*rules.Bucket
	Meters  []*rules.Meter
	Mirrors []*MirrorStats // that the packet is given to
	Learns  bool           // there is a learn action: while packets come, it is to be done again now and then
	Tags    uint64         // what the list depends on: rules.TableTag, rules.GroupTag, and those of Normal
	// Why is the reason for which packets are dropped if there is no output, DropNone if there is one.
	Why packet.DropReason
	// Final is the packet's key at the end.
	Final flow.Key
}
