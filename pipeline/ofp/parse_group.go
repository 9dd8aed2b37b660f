package ofp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/flow"
)

// ParseGroup reads a group as add-group takes it: "group_id=1,type=select,bucket=output:1,bucket=...".
// Buckets without an id get the smallest that is free.
func ParseGroup(text string, n Names) (GroupDef, error) {
	m, err := ParseGroupMod(text, n, GroupAdd)
	return m.Def, err
}

// ParseGroups reads a file of groups, as add-groups does: one a line, "#" begins a comment, and a line may
// start with "add", "modify", "add_or_mod", "delete", "insert_bucket" or "remove_bucket"; cmd
// is the command of a line without. An error names the line.
func ParseGroups(text string, n Names, cmd GroupCommand) ([]GroupMod, error) {
	var mods []GroupMod
	err := eachLine(text, func(line string) error {
		line = strings.TrimLeft(line, " \t\r\n")
		of := cmd
		i := 0
		for i < len(line) && !isGap(line[i]) {
			i++
		}
		for _, c := range [...]struct {
			name string
			cmd  GroupCommand
		}{
			{"add", GroupAdd},
			{"delete", GroupDelete},
			{"modify", GroupModify},
			{"add_or_mod", GroupAddOrModify},
			{"insert_bucket", GroupInsertBuckets},
			{"remove_bucket", GroupRemoveBuckets},
		} {
			if line[:i] == c.name {
				of, line = c.cmd, line[i:]
				break
			}
		}
		m, err := ParseGroupMod(line, n, of)
		mods = append(mods, m)
		return err
	})
	if err != nil {
		return nil, err
	}
	return mods, nil
}

// ParseGroupMod reads the text of a group command. For GroupDelete it is "group_id=N", "group_id=all" or "".
func ParseGroupMod(text string, n Names, cmd GroupCommand) (GroupMod, error) {
	m := GroupMod{Command: cmd, CommandBucket: BucketAll}
	m.Def.ID = GroupAny
	if cmd == GroupDelete && strings.TrimSpace(text) == "" {
		return m, nil
	}
	head, buckets, has := strings.Cut(text, "bucket=")
	if has && (cmd == GroupDelete || cmd == GroupRemoveBuckets) {
		return m, errors.New("group: buckets are not given to take something away")
	}
	g := groupParser{GroupMod: &m, names: n}
	for {
		key, value, rest, ok := nextPair(head)
		if !ok {
			break
		}
		head = rest
		if err := g.key(key, value); err != nil {
			return m, err
		}
	}
	if err := g.done(); err != nil {
		return m, err
	}
	for has {
		var one string
		one, buckets, has = strings.Cut(buckets, "bucket=")
		if err := g.bucket(one); err != nil {
			return m, fmt.Errorf("bucket %d: %w", len(m.Def.Buckets), err)
		}
	}
	return m, g.buckets()
}

// groupParser reads one group; the flags say what has been there.
type groupParser struct {
	*GroupMod
	names             Names
	id, typed, bucked bool
}

// describes tells whether the command says what a group is like.
func (g *groupParser) describes() bool {
	return g.Command == GroupAdd || g.Command == GroupModify || g.Command == GroupAddOrModify
}

func (g *groupParser) key(key, value string) (err error) {
	d := &g.Def
	switch key {
	case "group_id":
		g.id = true
		if value == "all" {
			if g.Command != GroupDelete {
				return errors.New("group_id: all groups can only be deleted")
			}
			return nil
		}
		if d.ID, err = parse32(value, key); err == nil && d.ID > GroupMax {
			err = fmt.Errorf("group_id: %s is not in 0 to %d", value, GroupMax)
		}
		return err
	case "command_bucket_id":
		g.bucked = true
		return g.commandBucket(value)
	case "type", "selection_method", "selection_method_param", "fields":
		if !g.describes() {
			return fmt.Errorf("%s: the command does not change it", key)
		}
	default:
		return fmt.Errorf("group: there is no argument %q", key)
	}
	switch key {
	case "type":
		g.typed = true
		d.Type, err = groupType(value)
	case "selection_method":
		if value != "hash" && value != "dp_hash" {
			return fmt.Errorf("selection_method: %q is neither hash nor dp_hash", value)
		}
		d.Method = value
	case "selection_method_param":
		d.Param, err = parse64(value, key)
	case "fields":
		err = g.fields(value)
	}
	return err
}

func groupType(name string) (GroupType, error) {
	switch name {
	case "all":
		return GroupAll, nil
	case "select":
		return GroupSelect, nil
	case "indirect":
		return GroupIndirect, nil
	case "ff", "fast_failover":
		return GroupFastFailover, nil
	}
	return 0, fmt.Errorf("type: %q is none of all, select, indirect, ff", name)
}

func (g *groupParser) commandBucket(value string) (err error) {
	if g.Command != GroupInsertBuckets && g.Command != GroupRemoveBuckets {
		return errors.New("command_bucket_id: only insert-buckets and remove-buckets have it")
	}
	switch value {
	case "all":
		g.CommandBucket = BucketAll
	case "first":
		g.CommandBucket = BucketFirst
	case "last":
		g.CommandBucket = BucketLast
	default:
		g.CommandBucket, err = parse32(value, "command_bucket_id")
		if err == nil && g.CommandBucket > BucketMax && g.CommandBucket < BucketFirst {
			err = fmt.Errorf("command_bucket_id: %s is not in 0 to %d", value, BucketMax)
		}
	}
	if err == nil && g.CommandBucket == BucketAll && g.Command == GroupInsertBuckets {
		err = errors.New("command_bucket_id: buckets cannot be inserted behind all")
	}
	return err
}

// fields reads the fields that a hash is made of, each with the bits that count.
func (g *groupParser) fields(text string) error {
	for {
		key, value, rest, ok := nextPair(text)
		if !ok {
			return nil
		}
		text = rest
		f := flow.FieldByName(key)
		if f == nil {
			return fmt.Errorf("fields: there is no field %q", key)
		}
		for _, have := range g.Def.Fields {
			if have == f {
				return fmt.Errorf("fields: %s is there twice", key)
			}
		}
		mask := f.All()
		if value != "" {
			v, m, err := f.Parse(value, g.names)
			switch {
			case err != nil:
				return fmt.Errorf("fields: %w", err)
			case m != f.All():
				return fmt.Errorf("fields: %s=%s: the value is a mask, and has none", key, value)
			case v.IsZero():
				return fmt.Errorf("fields: %s=%s: no bit counts", key, value)
			case v != f.All() && !f.Maskable():
				return fmt.Errorf("fields: %s has no masks", key)
			}
			mask = v
		}
		i := 0
		for i < len(g.Def.Fields) && fieldOrder(g.Def.Fields[i]) < fieldOrder(f) {
			i++
		}
		g.Def.Fields = slices.Insert(g.Def.Fields, i, f)
		g.Def.FieldMask = slices.Insert(g.Def.FieldMask, i, mask)
	}
}

// fieldOrder is the place of f among a group's fields: the field table's order, but registers
// before what packets have.
func fieldOrder(f *flow.Field) int {
	if strings.HasPrefix(strings.TrimLeft(f.Name, "x"), "reg") {
		return ethSrc.ID()<<8 - 1<<7 + f.ID()>>1
	}
	return f.ID() << 8
}

var ethSrc = flow.FieldByName("eth_src")

// done checks what stood before the buckets.
func (g *groupParser) done() error {
	d := &g.Def
	switch {
	case !g.id:
		return errors.New("group: there is no group_id")
	case g.describes() && !g.typed:
		return errors.New("group: there is no type")
	case len(d.Fields) > 0 && d.Method != "hash":
		return errors.New("fields: they need selection_method=hash")
	case d.Param != 0 && d.Method == "":
		return errors.New("selection_method_param: it needs a selection_method")
	case d.Method != "" && d.Type != GroupSelect:
		return errors.New("selection_method: only groups of type select have one")
	case g.Command == GroupInsertBuckets && !g.bucked:
		return errors.New("group: there is no command_bucket_id")
	}
	return nil
}
