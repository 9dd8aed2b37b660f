package rules

import (
	"slices"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

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
// insert (behind it; All is for remove only) and remove. Flows that used a deleted group are deleted. An error is an *Error.
func (t *Tables) ApplyGroup(cmd GroupCommand, def *ofp.GroupDef, where uint32, now int64) (Changed, error) {
	t.groupMu.Lock()
	defer t.groupMu.Unlock()
	if cmd == GroupDelete {
		return t.deleteGroup(def.ID, now)
	}
	ch, err := t.setGroup(cmd, def, where, now)
	if err != nil {
		return Changed{}, err
	}
	return ch, nil
}

// setGroup does a change that deletes no group. Preconditions: groupMu.
func (t *Tables) setGroup(cmd GroupCommand, def *ofp.GroupDef, where uint32, now int64) (Changed, *Error) {
	old := t.Group(def.ID)
	switch {
	case def.ID >= ofp.GroupMax:
		return Changed{}, refuse(GroupInvalid, "group %d: numbers go to %d", def.ID, ofp.GroupMax-1)
	case old != nil && cmd == GroupAdd:
		return Changed{}, refuse(GroupExists, "group %d exists", def.ID)
	case old == nil && cmd != GroupAdd && cmd != GroupAddOrModify:
		return Changed{}, refuse(UnknownGroup, "group %d does not exist", def.ID)
	}
	g := &Group{Def: *def, Created: now, Modified: now}
	ch := Changed{Added: 1, Version: t.Version(), Tags: GroupTag(def.ID)}
	if old != nil {
		g.Created = old.Created
		ch.Added, ch.Modified = 0, 1
	}
	if cmd == GroupInsertBuckets || cmd == GroupRemoveBuckets {
		g.Def = old.Def
		var err *Error
		if g.Def.Buckets, err = changeBuckets(old.Def.Buckets, def, cmd, where); err != nil {
			return Changed{}, err
		}
		g.packets.Store(old.packets.Load())
		g.bytes.Store(old.bytes.Load())
	}
	if err := t.checkGroup(&g.Def); err != nil {
		return Changed{}, err
	}
	var before map[uint32]*Bucket
	if old != nil && (g.Def.Type == ofp.GroupSelect || cmd == GroupInsertBuckets || cmd == GroupRemoveBuckets) {
		before = old.byID()
	}
	for i := range g.Def.Buckets {
		b := &Bucket{Def: &g.Def.Buckets[i]}
		b.inherit(before[b.Def.ID])
		if b.packets == nil {
			b.packets, b.bytes = new(atomic.Uint64), new(atomic.Uint64)
		}
		g.Buckets = append(g.Buckets, b)
	}
	ch.Version = t.putGroup(def.ID, g)
	return ch, nil
}

// putGroup makes g the group with a number, nil: none. Preconditions: groupMu.
func (t *Tables) putGroup(id uint32, g *Group) (version uint64) {
	t.lockSmall()
	defer t.mu.Unlock()
	t.groups.set(id, g)
	return t.step(GroupTag(id))
}

// byID are a group's buckets.
func (g *Group) byID() map[uint32]*Bucket {
	m := make(map[uint32]*Bucket, len(g.Buckets))
	for _, b := range g.Buckets {
		m[b.Def.ID] = b
	}
	return m
}

// inherit takes over the counters of the bucket that had its number, if that has the same actions.
func (b *Bucket) inherit(old *Bucket) {
	if old != nil && sameActions(old.Def.Actions, b.Def.Actions) {
		b.packets, b.bytes = old.packets, old.bytes
	}
}

// changeBuckets is a list of buckets with others inserted or removed.
func changeBuckets(old []ofp.Bucket, def *ofp.GroupDef, cmd GroupCommand, where uint32) ([]ofp.Bucket, *Error) {
	i := slices.IndexFunc(old, func(b ofp.Bucket) bool { return b.ID == where })
	switch where {
	case BucketFirst:
		i = 0
		if cmd == GroupInsertBuckets {
			i = -1
		}
	case BucketLast:
		i = len(old) - 1
	case BucketAll:
		if cmd == GroupRemoveBuckets {
			return nil, nil
		}
		fallthrough
	default:
		if i < 0 {
			return nil, refuse(GroupInvalid, "group %d: it has no bucket %d", def.ID, where)
		}
	}
	if cmd == GroupInsertBuckets {
		return slices.Insert(slices.Clone(old), i+1, def.Buckets...), nil
	}
	if len(old) == 0 {
		return nil, nil
	}
	return slices.Delete(slices.Clone(old), i, i+1), nil
}

// checkGroup refuses groups that cannot be (OpenFlow 1.3, section 6.7).
func (t *Tables) checkGroup(d *ofp.GroupDef) *Error {
	if d.Type == ofp.GroupIndirect && len(d.Buckets) != 1 {
		return refuse(GroupInvalid, "group %d: an indirect group has one bucket, not %d", d.ID, len(d.Buckets))
	}
	if len(d.Buckets) > maxBuckets {
		return refuse(GroupInvalid, "group %d: it may have %d buckets, not %d", d.ID, maxBuckets, len(d.Buckets))
	}
	seen := make(map[uint32]bool, len(d.Buckets))
	chains := chains{t: t, to: d.ID}
	for i := range d.Buckets {
		b := &d.Buckets[i]
		if seen[b.ID] {
			return refuse(GroupInvalid, "group %d: there are two buckets %d", d.ID, b.ID)
		}
		seen[b.ID] = true
		if d.Type == ofp.GroupFastFailover && b.WatchPort == ofp.PortNone && b.WatchGroup == ofp.GroupAny {
			return refuse(GroupInvalid, "group %d: bucket %d of a fast failover group watches nothing", d.ID, b.ID)
		}
		if usesGroup(b.Actions, d.ID) || b.WatchGroup == d.ID {
			return refuse(GroupLoop, "group %d: bucket %d uses the group itself", d.ID, b.ID)
		}
		if err := t.check(b.Actions, true); err != nil {
			return err
		}
		if chains.bucket(b) >= maxChain {
			return refuse(GroupLoop, "group %d: bucket %d leads back to the group", d.ID, b.ID)
		}
	}
	return nil
}

// chains finds out how long the chains of groups are that buckets use or watch. Each group is looked at once, however many
// ways lead to it.
type chains struct {
	t      *Tables
	to     uint32         // a chain to this group has no end
	length map[uint32]int // of the groups that it has looked at
}

// bucket is the length of the longest chain that begins with a bucket; at least maxChain stands for all that are too
// long or come back.
func (c *chains) bucket(b *ofp.Bucket) int {
	longest := 0
	if b.WatchGroup != ofp.GroupAny {
		longest = c.group(b.WatchGroup)
	}
	walk(b.Actions, func(a ofp.Action) bool {
		if g, ok := a.(ofp.Group); ok {
			longest = max(longest, c.group(g.ID))
		}
		return true
	})
	return longest
}

func (c *chains) group(id uint32) int {
	if id == c.to {
		return maxChain
	}
	if n, ok := c.length[id]; ok {
		return n
	}
	g := c.t.Group(id)
	if g == nil {
		return 0
	}
	if c.length == nil {
		c.length = map[uint32]int{}
	}
	c.length[id] = maxChain // if one leads back to it
	longest := 0
	for i := range g.Def.Buckets {
		longest = max(longest, c.bucket(&g.Def.Buckets[i]))
	}
	n := min(longest+1, maxChain)
	c.length[id] = n
	return n
}

// deleteGroup deletes the flows that use a group, then the group. That it does not exist is no error.
func (t *Tables) deleteGroup(id uint32, now int64) (Changed, error) {
	if id == ofp.GroupAny {
		id = GroupAll
	}
	if id != GroupAll && t.Group(id) == nil {
		return Changed{Version: t.Version()}, nil
	}
	ch, err := t.deleteUsers(id, 0, now)
	if err != nil {
		return ch, err
	}
	t.lockSmall()
	defer t.mu.Unlock()
	for _, e := range t.groups.all() {
		if e.id == id || id == GroupAll {
			t.groups.set(e.id, nil)
			ch.Tags |= GroupTag(e.id)
			ch.Removed++
		}
	}
	ch.Version = t.step(ch.Tags)
	return ch, nil
}
