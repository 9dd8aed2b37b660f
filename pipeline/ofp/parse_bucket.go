package ofp

import (
	"errors"
	"fmt"

	"github.com/gvswitch/gvswitch/flow"
)

// bucket reads one bucket: "weight:N,watch_port:PORT,watch_group:ID,bucket_id:ID,actions=...".
// Whatever else stands there is an action.
func (g *groupParser) bucket(text string) error {
	b := Bucket{ID: BucketAll, Weight: 1, WatchPort: PortNone, WatchGroup: GroupAny}
	weighted, acting := false, false
	var actions []byte
	for {
		key, value, rest, ok := nextPair(text)
		if !ok {
			break
		}
		text = rest
		var err error
		switch lower(key) {
		case "weight":
			weighted = true
			b.Weight, err = parse16(value, "weight")
		case "watch_port":
			if b.WatchPort, ok = flow.ParsePort(value, g.names); !ok || b.WatchPort >= PortMax && b.WatchPort != PortNone && b.WatchPort != PortController {
				err = fmt.Errorf("watch_port: there is no port %q that could be watched", value)
			}
		case "watch_group":
			b.WatchGroup, err = parse32(value, "watch_group")
			if err == nil && b.WatchGroup > GroupMax {
				err = fmt.Errorf("watch_group: %s is not in 0 to %d", value, GroupMax)
			}
		case "bucket_id":
			b.ID, err = parse32(value, "bucket_id")
			if err == nil && b.ID > BucketMax {
				err = fmt.Errorf("bucket_id: %s is not in 0 to %d", value, BucketMax)
			}
		case "action", "actions":
			acting = true
			actions = append(append(actions, value...), ',')
		default:
			acting = true
			actions = append(append(append(append(actions, key...), '('), value...), "),"...)
		}
		if err != nil {
			return err
		}
	}
	watched := b.WatchPort != PortNone || b.WatchGroup != GroupAny
	known := g.Command != GroupInsertBuckets
	switch {
	case !acting:
		return errors.New("there are no actions")
	case known && weighted && b.Weight != 0 && g.Def.Type != GroupSelect:
		return errors.New("weight: only buckets of groups of type select have one")
	case known && watched && (g.Def.Type == GroupAll || g.Def.Type == GroupIndirect):
		return errors.New("watch_port and watch_group: only buckets of groups of type select and ff have them")
	case known && !watched && g.Def.Type == GroupFastFailover:
		return errors.New("a bucket of a group of type ff must have a watch_port or a watch_group")
	}
	if weighted && g.Def.Type != GroupSelect && known {
		b.Weight = 1
	}
	p := parser{names: g.names}
	if err := p.list(string(actions), false, ""); err != nil {
		return err
	}
	b.Actions = p.out
	if err := CheckActions(b.Actions); err != nil {
		return err
	}
	g.Def.Buckets = append(g.Def.Buckets, b)
	return nil
}

// buckets checks the buckets as a whole and gives ids to those without.
func (g *groupParser) buckets() error {
	list := g.Def.Buckets
	if g.describes() && g.Def.Type == GroupIndirect && len(list) != 1 {
		return fmt.Errorf("group: one of type indirect has one bucket, not %d", len(list))
	}
	used := make(map[uint32]bool, len(list))
	for i := range list {
		if id := list[i].ID; id != BucketAll {
			if used[id] {
				return fmt.Errorf("bucket_id: two buckets have %d", id)
			}
			used[id] = true
		}
	}
	next := uint32(0)
	for i := range list {
		if list[i].ID != BucketAll || g.Command == GroupInsertBuckets {
			continue
		}
		for used[next] {
			next++
		}
		list[i].ID = next
		used[next] = true
	}
	return nil
}
