package rules

import (
	"math"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// Group is a group. Def and the length of Buckets never change: a change makes a new Group, and
// buckets that are as before keep their counters.
type Group struct {
	Def      ofp.GroupDef
	Buckets  []*Bucket // as Def.Buckets
	Created  int64     // milliseconds
	Modified int64

	packets, bytes atomic.Uint64
}

// Bucket counts what a bucket was used for.
type Bucket struct {
	Def            *ofp.Bucket
	packets, bytes *atomic.Uint64
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

const (
	// maxChain is how many groups may watch or use each other in a row.
	maxChain = 32
	// maxBuckets is how many buckets a group may have: as many as its message has room for in OpenFlow, and what a
	// poll thread can choose from in some 100 us.
	maxBuckets = 8192
	// maxWatched is how many buckets of watched groups a poll thread looks at for one packet. Groups that watch each
	// other may lead to any number; what it does not come to is dead.
	maxWatched = 1 << 14
)

// Live tells whether a bucket is alive: its watched port is up and its watched group has
// a live bucket.
func (t *Tables) Live(b *Bucket, l Liveness) bool {
	left := maxWatched
	return t.live(b, l, 0, &left)
}

func (t *Tables) live(b *Bucket, l Liveness, depth int, left *int) bool {
	if b.Def.WatchPort != ofp.PortNone && !l.PortUp(b.Def.WatchPort) {
		return false
	}
	if b.Def.WatchGroup == ofp.GroupAny {
		return true
	}
	g := t.Group(b.Def.WatchGroup)
	if g == nil || depth == maxChain {
		return false
	}
	for _, b := range g.Buckets {
		if *left--; *left < 0 {
			return false
		}
		if t.live(b, l, depth+1, left) {
			return true
		}
	}
	return false
}

// Pick is the bucket for a packet with a hash: of a select group by weight among the live ones, such that
// a bucket that comes or goes moves only its share of hashes; of a fast failover group the
// first that is alive; of an indirect group the only one. It is nil if there is none, and for groups of type all.
func (t *Tables) Pick(g *Group, hash uint32, l Liveness) *Bucket {
	left := maxWatched
	switch g.Def.Type {
	case ofp.GroupIndirect:
		if len(g.Buckets) != 0 {
			return g.Buckets[0]
		}
	case ofp.GroupFastFailover:
		for _, b := range g.Buckets {
			if t.live(b, l, 0, &left) {
				return b
			}
		}
	case ofp.GroupSelect:
		// Weighted rendezvous hashing: the share of each is its part of all weights.
		var best *Bucket
		var most float64
		for _, b := range g.Buckets {
			if b.Def.Weight == 0 || !t.live(b, l, 0, &left) {
				continue
			}
			h := mixed(mixed(0x243f6a8885a308d3, uint64(hash), 0), uint64(b.Def.ID), 1)
			h ^= h >> 32
			h *= 0xd6e8feb86659fd93
			u := (float64(h>>11) + 0.5) / (1 << 53) // in (0, 1)
			if s := -float64(b.Def.Weight) / math.Log(u); best == nil || s > most {
				best, most = b, s
			}
		}
		return best
	}
	return nil
}

// Group is the group with a number, nil if there is none.
func (t *Tables) Group(id uint32) *Group { return t.groups.get(id) }

// Groups are all groups, by number.
func (t *Tables) Groups() []*Group { return t.groups.values() }
