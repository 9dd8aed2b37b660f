package ofp

import (
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/flow"
)

// flowKey reads an item of a flow that is not a part of the match. known is false if it is none.
func (m *FlowMod) flowKey(key, value string, n Names) (known bool, err error) {
	f := &m.Flow
	filter := m.Command == Delete || m.Command == DeleteStrict
	switch key {
	case "priority":
		if m.Command == Delete {
			return true, fmt.Errorf("priority: it counts in add, modify and strict deletion only")
		}
		f.Priority, err = parse16(value, key)
	case "table":
		f.Table, err = parseTable(value, key, n)
		if err == nil && f.Table == TableAll && m.Command == Add {
			err = fmt.Errorf("table: 255 is out of range: tables are 0 to %d", MaxTables-1)
		}
	case "cookie":
		err = m.cookie(value)
	case "duration", "n_packets", "n_bytes", "idle_age", "hard_age":
		if value == "" {
			err = fmt.Errorf("%s: the value is missing", key)
		}
	case "no_readonly_table", "allow_hidden_fields":
	case "out_port", "out_group":
		if !filter {
			return true, fmt.Errorf("%s: it selects flows to delete or to show, and this one is added or changed", key)
		}
		err = m.out(key, value, n)
	case "idle_timeout", "hard_timeout", "importance",
		"send_flow_rem", "check_overlap", "reset_counts", "no_packet_counts", "no_byte_counts":
		if filter || key == "importance" && m.Command != Add {
			return true, fmt.Errorf("%s: only a flow that is added%s has it", key, orChanged(key))
		}
		err = f.property(key, value)
	case "actions", "action":
		return true, fmt.Errorf("%s: flows are selected without actions", key)
	default:
		return false, nil
	}
	return true, err
}

func orChanged(key string) string {
	if key == "importance" {
		return ""
	}
	return " or changed"
}

// property reads an item that says what the flow is like.
func (f *Flow) property(key, value string) (err error) {
	switch key {
	case "idle_timeout":
		f.Idle, err = parse16(value, key)
	case "hard_timeout":
		f.Hard, err = parse16(value, key)
	case "importance":
		f.Importance, err = parse16(value, key)
	case "send_flow_rem":
		f.Flags |= SendFlowRem
	case "check_overlap":
		f.Flags |= CheckOverlap
	case "reset_counts":
		f.Flags |= ResetCounts
	case "no_packet_counts":
		f.Flags |= NoPktCounts
	case "no_byte_counts":
		f.Flags |= NoByteCounts
	}
	return err
}

// cookie reads a cookie to set, or with a mask one to look for.
func (m *FlowMod) cookie(value string) (err error) {
	v, mask, masked := strings.Cut(value, "/")
	cookie, err := parse64(v, "cookie")
	if err != nil {
		return err
	}
	if !masked {
		if m.Command == Delete || m.Command == DeleteStrict {
			return fmt.Errorf("cookie: to select by it, give a mask: cookie=%s/-1", value)
		}
		m.NewCookie, m.SetCookie = cookie, true
		if m.CookieMask == 0 {
			m.Flow.Cookie = cookie
		}
		return nil
	}
	if m.Command == Add {
		return fmt.Errorf("cookie: %s: a flow that is added has a cookie without a mask", value)
	}
	m.CookieMask, err = parse64(mask, "cookie mask")
	m.Flow.Cookie = cookie & m.CookieMask
	return err
}

// out reads out_port and out_group.
func (m *FlowMod) out(key, value string, n Names) (err error) {
	if key == "out_port" {
		port, ok := flow.ParsePort(value, n)
		if !ok {
			return fmt.Errorf("out_port: there is no port %q", value)
		}
		m.OutPort = port
		return nil
	}
	switch lower(value) {
	case "any":
		m.OutGroup = GroupAny
	default:
		m.OutGroup, err = parse32(value, key)
		if err == nil && m.OutGroup > GroupMax && m.OutGroup != GroupAny {
			err = fmt.Errorf("out_group: %s is not in 0 to %d", value, GroupMax)
		}
	}
	return err
}
