package rules

import "github.com/gvswitch/gvswitch/pipeline/ofp"

// GroupChange is one of several changes of groups, with what ApplyGroup takes.
type GroupChange struct {
	Command GroupCommand
	Def     *ofp.GroupDef
	Where   uint32
}

// ApplyGroups does some changes in their order, all or none. They come into force one after the other, within
// microseconds each. A deletion cannot be one of several: the flows that it takes along would not come
// back. An error is an *Error.
func (t *Tables) ApplyGroups(list []GroupChange, now int64) (ch Changed, err error) {
	if len(list) == 1 {
		return t.ApplyGroup(list[0].Command, list[0].Def, list[0].Where, now)
	}
	for i := range list {
		if list[i].Command == GroupDelete {
			e := refuse(GroupInvalid, "group %d: a group cannot be deleted in one step with other changes", list[i].Def.ID)
			e.Index = i
			return ch, e
		}
	}
	t.groupMu.Lock()
	defer t.groupMu.Unlock()
	before := make([]*Group, 0, len(list))
	for i := range list {
		c := &list[i]
		old := t.Group(c.Def.ID)
		d, e := t.setGroup(c.Command, c.Def, c.Where, now)
		if e != nil {
			for i--; i >= 0; i-- {
				t.putGroup(list[i].Def.ID, before[i])
			}
			e.Index = len(before)
			return Changed{}, e
		}
		before = append(before, old)
		ch.merge(d)
	}
	return ch, nil
}
