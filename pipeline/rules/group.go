package rules

import (
	"sync/atomic"

	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// Group is a group. Def and the length of Buckets never change: a change makes a new Group.
type Group struct {
	Def     ofp.GroupDef
	Buckets []*Bucket // as Def.Buckets
	Created int64     // milliseconds

	packets, bytes atomic.Uint64
}

// Bucket counts what a bucket was used for.
type Bucket struct {
	Def            *ofp.Bucket
	packets, bytes atomic.Uint64
}

// Add counts packets that were given to the group.
func (g *Group) Add(packets, bytes uint64) { g.packets.Add(packets); g.bytes.Add(bytes) }

// Counts are what was counted.
func (g *Group) Counts() (packets, bytes uint64) { return g.packets.Load(), g.bytes.Load() }

// Add counts packets that the bucket got.
func (b *Bucket) Add(packets, bytes uint64) { b.packets.Add(packets); b.bytes.Add(bytes) }

// Counts are what was counted.
func (b *Bucket) Counts() (packets, bytes uint64) { return b.packets.Load(), b.bytes.Load() }

// Liveness knows which ports are up. It is asked on poll threads.
type Liveness interface {
	PortUp(of uint32) bool
}

// Live tells whether a bucket is alive: its watched port is up and its watched group has
// a live bucket.
func (t *Tables) Live(b *Bucket, l Liveness) bool { return true }

// Pick is the bucket for a packet with a hash: of a select group by weight among the live ones, such that
// a bucket that comes or goes moves only its share of hashes; of a fast failover group the
// first that is alive; of an indirect group the only one. It is nil if there is none, and for groups of type all.
func (t *Tables) Pick(g *Group, hash uint32, l Liveness) *Bucket { return nil }

// Group is the group with a number, nil if there is none.
func (t *Tables) Group(id uint32) *Group { return nil }

// Groups are all groups, by number.
func (t *Tables) Groups() []*Group { return nil }

// GroupCommand is a change of groups (OpenFlow 1.5, ofp_group_mod_command).
type GroupCommand uint8

// The commands.
const (
	GroupAdd GroupCommand = iota
	GroupModify
	GroupAddOrModify   // ovs-ofctl's mod-group --may-create
	GroupDelete        // and all flows that use it; ID GroupAll: all groups
	GroupInsertBuckets // Def's buckets, at Where
	GroupRemoveBuckets // the bucket Where
)

// Places for buckets (OpenFlow 1.5, ofp_group_bucket).
const (
	BucketFirst uint32 = 0xfffffffd
	BucketLast  uint32 = 0xfffffffe
	BucketAll   uint32 = 0xffffffff
	// GroupAll means all groups.
	GroupAll uint32 = 0xfffffffc
)

// ApplyGroup changes groups. where is the bucket (its ID, BucketFirst, BucketLast, BucketAll) of
// insert (behind it) and remove. Flows that used a deleted group are deleted.
func (t *Tables) ApplyGroup(cmd GroupCommand, def *ofp.GroupDef, where uint32, now int64) (Changed, error) {
	return Changed{}, nil
}
