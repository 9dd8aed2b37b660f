package ofp

// GroupCommand is what a GroupMod does.
type GroupCommand uint8

// The commands (OpenFlow 1.5, ofp_group_mod_command; GroupAddOrModify is Open vSwitch's).
const (
	GroupAdd GroupCommand = iota
	GroupModify
	GroupDelete
	GroupInsertBuckets
	GroupRemoveBuckets
	GroupAddOrModify
)

// Buckets that a GroupMod's CommandBucket may name besides bucket ids.
const (
	BucketMax   uint32 = 0xffffff00 // bucket ids are not more than this
	BucketFirst uint32 = 0xfffffffd
	BucketLast  uint32 = 0xfffffffe
	BucketAll   uint32 = 0xffffffff
)

// GroupMod is a change of groups. CommandBucket says where GroupInsertBuckets puts the buckets
// (behind it; BucketFirst, BucketLast) and which GroupRemoveBuckets takes away. GroupDelete with
// Def.ID GroupAny (text "all", or nothing) means all groups.
type GroupMod struct {
	Command       GroupCommand
	Def           GroupDef
	CommandBucket uint32
}

// Meters that are none of the numbered ones (OpenFlow 1.3, enum ofp_meter).
const (
	MeterMax        uint32 = 0xffff0000 // meter ids are 1 to this
	MeterSlowpath   uint32 = 0xfffffffd
	MeterController uint32 = 0xfffffffe
	MeterAll        uint32 = 0xffffffff
)
