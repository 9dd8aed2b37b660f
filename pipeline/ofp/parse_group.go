package ofp

// ParseGroup reads a group as add-group takes it: "group_id=1,type=select,bucket=output:1,bucket=...".
func ParseGroup(text string, n Names) (GroupDef, error) {
	m, err := ParseGroupMod(text, n, GroupAdd)
	return m.Def, err
}

// ParseGroupMod reads the text of a group command. For GroupDelete it is "group_id=N", "group_id=all" or "".
func ParseGroupMod(text string, n Names, cmd GroupCommand) (GroupMod, error) {
	return GroupMod{}, errUnfinished
}

// ParseGroups reads a file of groups, as add-groups does: one a line, "#" begins a comment, and a line may
// start with "add", "modify", "add_or_mod", "delete", "insert_bucket" or "remove_bucket".
func ParseGroups(text string, n Names, cmd GroupCommand) ([]GroupMod, error) {
	return nil, errUnfinished
}

// Append writes the group as a line of `ovs-ofctl dump-groups`, without the end of the line.
func (g *GroupDef) Append(b []byte, n Names) []byte {
	return b
}

// ParseMeter reads a meter as add-meter takes it: "meter=1,pktps,burst,bands=type=drop,rate=10,burst_size=5".
func ParseMeter(text string) (MeterDef, error) {
	return MeterDef{}, errUnfinished
}

// ParseMeterID reads what del-meters and dump-meters take: "meter=N", "meter=all" or "" (all).
func ParseMeterID(text string) (uint32, error) {
	return 0, errUnfinished
}

// Append writes the meter as a line of `ovs-ofctl dump-meters`, without the end of the line.
func (m *MeterDef) Append(b []byte) []byte {
	return b
}
