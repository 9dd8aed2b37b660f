package rules

import (
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// TestGroupWays has groups of which each uses, and each watches, the next one twice: there are 2^30 ways through them, and
// neither a change nor a packet may walk them all.
func TestGroupWays(t *testing.T) {
	for name, link := range map[string]func(id, next uint32) ofp.Bucket{
		"uses":    func(id, next uint32) ofp.Bucket { return bucket(id, ofp.PortNone, ofp.Group{ID: next}) },
		"watches": func(id, next uint32) ofp.Bucket { return ofp.Bucket{ID: id, WatchPort: ofp.PortNone, WatchGroup: next} },
	} {
		t.Run(name, func(t *testing.T) {
			tabs := New()
			start := time.Now()
			mustGroup(t, tabs, GroupAdd, ofp.GroupDef{ID: 31, Buckets: []ofp.Bucket{bucket(0, 9)}}, 0)
			for id := uint32(30); id > 0; id-- {
				def := ofp.GroupDef{ID: id, Type: ofp.GroupFastFailover, Buckets: []ofp.Bucket{link(0, id+1), link(1, id+1)}}
				if name == "uses" {
					def.Type = ofp.GroupAll
				}
				mustGroup(t, tabs, GroupAdd, def, 0)
			}
			if b := tabs.Pick(tabs.Group(1), 0, up{}); b != nil {
				t.Errorf("port 9 is down, and bucket %d is alive", b.Def.ID)
			}
			if d := time.Since(start); d > 30*time.Second {
				t.Errorf("took %v", d)
			}
			loop := ofp.GroupDef{ID: 31, Buckets: []ofp.Bucket{bucket(0, ofp.PortNone, ofp.Group{ID: 1})}}
			if _, err := tabs.ApplyGroup(GroupModify, &loop, 0, 0); err == nil || !strings.Contains(err.Error(), "leads back") {
				t.Errorf("a loop: %v", err)
			}
		})
	}
}

// TestManyBuckets changes the largest group, and tries to make a larger one.
func TestManyBuckets(t *testing.T) {
	tabs := New()
	def := ofp.GroupDef{ID: 1, Type: ofp.GroupSelect}
	for i := range uint32(maxBuckets) {
		def.Buckets = append(def.Buckets, bucket(i, ofp.PortNone, out(1)...))
	}
	mustGroup(t, tabs, GroupAdd, def, 0)
	tabs.Group(1).Buckets[maxBuckets-1].Add(7, 700)
	start := time.Now()
	mustGroup(t, tabs, GroupModify, def, 0)
	if d := time.Since(start); d > time.Second {
		t.Errorf("a change took %v", d)
	}
	if n, _ := tabs.Group(1).Buckets[maxBuckets-1].Counts(); n != 7 {
		t.Errorf("the last bucket has %d packets, not 7", n)
	}
	more := ofp.GroupDef{ID: 1, Buckets: []ofp.Bucket{bucket(maxBuckets, ofp.PortNone)}}
	if _, err := tabs.ApplyGroup(GroupInsertBuckets, &more, BucketLast, 0); err == nil || !strings.Contains(err.Error(), "may have 8192 buckets") {
		t.Errorf("one bucket more: %v", err)
	}
}
