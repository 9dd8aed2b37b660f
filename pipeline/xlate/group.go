package xlate

import (
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// group has a group's buckets work on copies of the packet.
func (x *Xlate) group(id uint32) {
	c := &x.cur
	if !x.mayGoOn() {
		return
	}
	g := c.tables.Group(id)
	x.res.Tags |= rules.GroupTag(id)
	if g == nil {
		x.noteWarn("output to nonexistent group")
		c.why = packet.NoSuchGroup
		x.stop()
		return
	}
	first, last := 0, len(g.Buckets)
	switch g.Def.Type {
	case ofp.GroupSelect, ofp.GroupFastFailover:
		if !x.spend(len(g.Buckets)) || x.dependOnWatched(g) && !x.spend(watchSteps) {
			return
		}
		h := uint32(0)
		if g.Def.Type == ofp.GroupSelect {
			h = x.groupHash(g)
		}
		b := c.tables.Pick(g, h, &x.live)
		if b == nil {
			x.noteDetail("no live bucket")
			c.why = packet.NoBucket
			return
		}
		for first < last && g.Buckets[first] != b {
			first++
		}
		if first == last {
			return
		}
		last = first + 1
		x.noteUsing(b)
	}
	if len(x.res.Groups) < cap(x.res.Groups) {
		x.res.Groups = append(x.res.Groups, g)
	}
	if first == last {
		return
	}
	save := x.save()
	if save < 0 {
		return
	}
	x.bucketRange(g, int32(first), int32(last), save)
}

// watchSteps is what it may take to find out whether watched groups are alive.
const watchSteps = 256

// dependOnWatched makes the list depend on the groups that g's buckets watch, if they do: on all groups, for those may watch others.
func (x *Xlate) dependOnWatched(g *rules.Group) bool {
	for _, b := range g.Buckets {
		if b.Def.WatchGroup < ofp.GroupMax {
			x.res.Tags |= rules.GroupTags
			return true
		}
	}
	return false
}

// bucketRange does bucket i, and when it is done those up to end. The packet is saved.
func (x *Xlate) bucketRange(g *rules.Group, i, end, save int32) {
	c := &x.cur
	if i >= end {
		x.freeSave(save)
		return
	}
	x.saves[save].metered = false
	k := x.push(contBucket, save)
	if k < 0 {
		return
	}
	n := &x.conts[k]
	n.group, n.lo, n.end, n.hi = g, i+1, end, int32(len(x.list))
	b := g.Buckets[i]
	if len(x.res.Buckets) < cap(x.res.Buckets) {
		x.res.Buckets = append(x.res.Buckets, b)
	}
	c.depth++
	x.noteBucket(b)
	c.list, c.at = x.ordered(b.Def.Actions), 0
	if len(c.list) == 0 {
		x.noteDetail("bucket without output: drop")
	}
}
