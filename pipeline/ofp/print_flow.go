package ofp

import "strconv"

// Append writes the flow as a line of `ovs-ofctl --no-stats dump-flows`, without the end of the line:
// " cookie=0x5, table=1, priority=10,tcp,in_port=1 actions=output:2". Cookie and table are left out
// if they are 0.
func (f *Flow) Append(b []byte, n Names) []byte {
	b = append(b, ' ')
	if f.Cookie != 0 {
		b = append(appendHex(append(b, "cookie="...), f.Cookie), ", "...)
	}
	if f.Table != 0 || n != nil && n.TableName(0) != "" {
		b = append(AppendTable(append(b, "table="...), f.Table, n), ", "...)
	}
	b = f.appendProperties(b)
	return f.appendRule(b, n)
}

// Stats is what dump-flows shows of a flow beside the flow.
type Stats struct {
	Packets, Bytes uint64
	Duration       int64 // ms since it was added
	IdleAge        int64 // ms since the last packet; -1: not to be shown
	HardAge        int64 // ms since the last change; -1: not to be shown
	HideDuration   bool
	NoCnts         bool // packets and bytes are not to be shown
}

// AppendStats writes the flow as a line of `ovs-ofctl dump-flows`. Open vSwitch does not show
// an age of 0 seconds since a change that is the flow's whole age.
func (f *Flow) AppendStats(b []byte, n Names, s Stats) []byte {
	if f.Cookie == 0 {
		b = append(b, " cookie=0x0, "...)
	} else {
		b = append(appendHex(append(b, " cookie="...), f.Cookie), ", "...)
	}
	if !s.HideDuration {
		b = strconv.AppendInt(append(b, "duration="...), s.Duration/1000, 10)
		if ms := s.Duration % 1000; ms != 0 {
			b = append(b, '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
		}
		b = append(b, "s, "...)
	}
	b = append(AppendTable(append(b, "table="...), f.Table, n), ", "...)
	if !s.NoCnts {
		b = appendUint(b, "n_packets=", s.Packets)
		b = append(appendUint(b, ", n_bytes=", s.Bytes), ", "...)
	}
	b = f.appendProperties(b)
	if s.IdleAge >= 0 {
		b = append(strconv.AppendInt(append(b, "idle_age="...), s.IdleAge/1000, 10), ", "...)
	}
	if s.HardAge >= 0 && s.HardAge/1000 != s.Duration/1000 {
		b = append(strconv.AppendInt(append(b, "hard_age="...), s.HardAge/1000, 10), ", "...)
	}
	return f.appendRule(b, n)
}

// appendProperties writes timeouts, flags and importance.
func (f *Flow) appendProperties(b []byte) []byte {
	if f.Idle != 0 {
		b = append(appendUint(b, "idle_timeout=", uint64(f.Idle)), ", "...)
	}
	if f.Hard != 0 {
		b = append(appendUint(b, "hard_timeout=", uint64(f.Hard)), ", "...)
	}
	b = appendFlags(b, f.Flags)
	if f.Importance != 0 {
		b = append(appendUint(b, "importance=", uint64(f.Importance)), ", "...)
	}
	return b
}

// appendFlags writes flags with a blank behind each.
func appendFlags(b []byte, flags uint16) []byte {
	for i, name := range [...]string{"send_flow_rem ", "check_overlap ", "reset_counts ", "no_packet_counts ", "no_byte_counts "} {
		if flags>>i&1 != 0 {
			b = append(b, name...)
		}
	}
	return b
}

// AppendRule writes what tells flows of a table apart: "priority=10,tcp,in_port=1"; the default
// priority is left out, so it may be nothing.
func (f *Flow) AppendRule(b []byte, n Names) []byte {
	if f.Priority != DefaultPriority {
		b = append(appendUint(b, "priority=", uint64(f.Priority)), ',')
	}
	end := len(b)
	b = f.Match.Append(b, n)
	if len(b) == end && f.Priority != DefaultPriority {
		b = b[:end-1]
	}
	return b
}

// appendRule writes the rule and the actions.
func (f *Flow) appendRule(b []byte, n Names) []byte {
	start := len(b)
	b = f.AppendRule(b, n)
	if len(b) > start {
		b = append(b, ' ')
	}
	return AppendActions(append(b, "actions="...), f.Actions, n)
}
