package ofp

import (
	"strconv"

	"github.com/gvswitch/gvswitch/flow"
)

// AppendActions writes actions as ovs-ofctl does, "drop" if there are none.
func AppendActions(b []byte, list []Action, n Names) []byte {
	if len(list) == 0 {
		return append(b, "drop"...)
	}
	for i, a := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendAction(b, a, n)
	}
	return b
}

func appendAction(b []byte, a Action, n Names) []byte {
	switch a := a.(type) {
	case Output:
		return appendOutput(b, a, n)
	case OutputReg:
		return AppendSubfield(append(b, "output:"...), a.Src)
	case Controller:
		return appendController(b, a)
	case Group:
		return appendUint(b, "group:", uint64(a.ID))
	case Enqueue:
		b = flow.AppendPort(append(b, "enqueue:"...), a.Port, n)
		return appendUint(b, ":", uint64(a.Queue))
	case Bundle:
		return appendBundle(b, a, n)
	case Multipath:
		return appendMultipath(b, a)
	case SetField:
		return appendSetField(b, a, n)
	case Move:
		b = AppendSubfield(append(b, "move:"...), a.Src)
		return AppendSubfield(append(b, "->"...), a.Dst)
	case StackPush:
		return AppendSubfield(append(b, "push:"...), a.Sub)
	case StackPop:
		return AppendSubfield(append(b, "pop:"...), a.Sub)
	case CheckPktLarger:
		b = appendUint(b, "check_pkt_larger(", uint64(a.Len))
		return AppendSubfield(append(b, ")->"...), a.Dst)
	case Resubmit:
		return appendResubmit(b, a, n)
	case Clone:
		b = AppendActions(append(b, "clone("...), a.Actions, n)
		return append(b, ')')
	case Learn:
		return appendLearn(b, &a, n)
	case Conjunction:
		b = appendUint(b, "conjunction(", uint64(a.ID))
		b = appendUint(b, ",", uint64(a.Clause)+1)
		return append(appendUint(b, "/", uint64(a.N)), ')')
	case FinTimeout:
		return appendFinTimeout(b, a)
	case Note:
		return appendHexBytes(append(b, "note:"...), a.Data)
	case Sample:
		return append(append(append(b, "sample("...), a.Text...), ')')
	case CT:
		return append(append(append(b, "ct("...), a.Text...), ')')
	case WriteActions:
		b = AppendActions(append(b, "write_actions("...), a.Actions, n)
		return append(b, ')')
	case WriteMetadata:
		b = appendHex(append(b, "write_metadata:"...), a.Value)
		if a.Mask != 1<<64-1 {
			b = appendHex(append(b, '/'), a.Mask)
		}
		return b
	case GotoTable:
		return AppendTable(append(b, "goto_table:"...), a.Table, n)
	}
	return appendSimple(b, a)
}

// appendSimple writes the actions that have at most a number.
func appendSimple(b []byte, a Action) []byte {
	switch a := a.(type) {
	case SetQueue:
		return appendUint(b, "set_queue:", uint64(a.ID))
	case PopQueue:
		return append(b, "pop_queue"...)
	case SetVLANVID:
		return appendUint(b, pick(a.Only, "set_vlan_vid:", "mod_vlan_vid:"), uint64(a.VID))
	case SetVLANPCP:
		return appendUint(b, pick(a.Only, "set_vlan_pcp:", "mod_vlan_pcp:"), uint64(a.PCP))
	case PopVLAN:
		return append(b, pick(a.Strip, "strip_vlan", "pop_vlan")...)
	case PushVLAN:
		return appendHex(append(b, "push_vlan:"...), uint64(a.TPID))
	case PushMPLS:
		return appendType(append(b, "push_mpls:"...), a.EthType)
	case PopMPLS:
		return appendType(append(b, "pop_mpls:"...), a.EthType)
	case DecTTL:
		b = append(b, "dec_ttl"...)
		for i, id := range a.IDs {
			b = appendUint(b, pick(i == 0, "(", ","), uint64(id))
		}
		if a.IDs != nil {
			b = append(b, ')')
		}
		return b
	case SetMPLSTTL:
		return append(appendUint(b, "set_mpls_ttl(", uint64(a.TTL)), ')')
	case DecMPLSTTL:
		return append(b, "dec_mpls_ttl"...)
	case SetTunnel:
		return appendHex(append(b, pick(a.Long, "set_tunnel64:", "set_tunnel:")...), a.ID)
	case Exit:
		return append(b, "exit"...)
	case CTClear:
		return append(b, "ct_clear"...)
	case Meter:
		return appendUint(b, "meter:", uint64(a.ID))
	case ClearActions:
		return append(b, "clear_actions"...)
	}
	panic("ofp: an action of unknown type")
}

func pick(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// appendUint writes s and then v.
func appendUint(b []byte, s string, v uint64) []byte {
	return strconv.AppendUint(append(b, s...), v, 10)
}

// appendType writes an EtherType with all four digits.
func appendType(b []byte, t uint16) []byte {
	const hex = "0123456789abcdef"
	return append(b, '0', 'x', hex[t>>12], hex[t>>8&15], hex[t>>4&15], hex[t&15])
}

func appendOutput(b []byte, o Output, n Names) []byte {
	if o.MaxLen != 0 {
		b = flow.AppendPort(append(b, "output(port="...), o.Port, n)
		return append(appendUint(b, ",max_len=", uint64(o.MaxLen)), ')')
	}
	if o.Port < PortMax {
		b = append(b, "output:"...)
	}
	return flow.AppendPort(b, o.Port, n)
}

func appendController(b []byte, c Controller) []byte {
	if c.Reason == reasonAction && c.ID == 0 && !c.Pause && c.Meter == 0 && len(c.Userdata) == 0 {
		return appendUint(b, "CONTROLLER:", uint64(c.MaxLen))
	}
	b = append(b, "controller("...)
	start := len(b)
	if c.Reason != reasonAction {
		b = append(b, "reason="...)
		if int(c.Reason) < len(reasons) {
			b = append(b, reasons[c.Reason]...)
		} else {
			b = strconv.AppendUint(b, uint64(c.Reason), 10)
		}
		b = append(b, ',')
	}
	if c.MaxLen != 0xffff {
		b = append(appendUint(b, "max_len=", uint64(c.MaxLen)), ',')
	}
	if c.ID != 0 {
		b = append(appendUint(b, "id=", uint64(c.ID)), ',')
	}
	if len(c.Userdata) != 0 {
		b = append(appendHexBytes(append(b, "userdata="...), c.Userdata), ',')
	}
	if c.Pause {
		b = append(b, "pause,"...)
	}
	if c.Meter != 0 {
		b = append(appendUint(b, "meter_id=", uint64(c.Meter)), ',')
	}
	if len(b) > start {
		b = b[:len(b)-1]
	}
	return append(b, ')')
}

func appendBundle(b []byte, a Bundle, n Names) []byte {
	b = append(b, pick(a.Dst.Field != nil, "bundle_load(", "bundle(")...)
	b = appendUint(append(append(b, a.Fields...), ','), "", uint64(a.Basis))
	b = append(append(append(b, ','), a.Algorithm...), ",ofport,"...)
	if a.Dst.Field != nil {
		b = append(AppendSubfield(b, a.Dst), ',')
	}
	b = append(b, "members:"...)
	for i, m := range a.Members {
		if i > 0 {
			b = append(b, ',')
		}
		b = flow.AppendPort(b, m, n)
	}
	return append(b, ')')
}

func appendMultipath(b []byte, a Multipath) []byte {
	b = append(append(b, "multipath("...), a.Fields...)
	b = appendUint(b, ",", uint64(a.Basis))
	b = append(append(b, ','), a.Algorithm...)
	b = appendUint(b, ",", uint64(a.Links))
	b = appendUint(b, ",", uint64(a.Arg))
	return append(AppendSubfield(append(b, ','), a.Dst), ')')
}

func appendResubmit(b []byte, a Resubmit, n Names) []byte {
	if a.Port != PortInPort && a.Table == TableAll {
		return flow.AppendPort(append(b, "resubmit:"...), a.Port, n)
	}
	b = append(b, "resubmit("...)
	if a.Port != PortInPort {
		b = flow.AppendPort(b, a.Port, n)
	}
	b = append(b, ',')
	if a.Table != TableAll {
		b = AppendTable(b, a.Table, n)
	}
	if a.CT {
		b = append(b, ",ct"...)
	}
	return append(b, ')')
}

func appendFinTimeout(b []byte, f FinTimeout) []byte {
	b = append(b, "fin_timeout("...)
	if f.Idle != 0 {
		b = appendUint(b, "idle_timeout=", uint64(f.Idle))
	}
	if f.Hard != 0 {
		b = appendUint(b, pick(f.Idle != 0, ",hard_timeout=", "hard_timeout="), uint64(f.Hard))
	}
	return append(b, ')')
}

func appendSetField(b []byte, a SetField, n Names) []byte {
	switch a.Form {
	case FormLoad:
		return appendLoad(b, a)
	case FormMod:
		return appendMod(b, a, n)
	}
	b = a.Field.Append(append(b, "set_field:"...), a.Value, a.Mask, n)
	return append(append(b, "->"...), setName(a.Field)...)
}

// appendLoad writes a load for each run of ones in the mask, of 64 bits at most.
func appendLoad(b []byte, a SetField) []byte {
	first := true
	for ofs := uint(0); ofs < uint(width(a.Field)); {
		m := a.Mask.Rsh(ofs)
		if m.Lo&1 == 0 {
			ofs++
			continue
		}
		n := uint(1)
		for n < 64 && m.Lo>>n&1 == 1 {
			n++
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendHex(append(b, "load:"...), a.Value.Rsh(ofs).And(flow.Ones(n)).Lo)
		b = AppendSubfield(append(b, "->"...), Subfield{a.Field, uint16(ofs), uint16(n)})
		ofs += n
	}
	return b
}

// appendMod writes mod_dl_src and its like.
func appendMod(b []byte, a SetField, n Names) []byte {
	name := a.Field.Name
	switch name {
	case "udp_src", "sctp_src":
		name = "tcp_src"
	case "udp_dst", "sctp_dst":
		name = "tcp_dst"
	}
	for i := range mods {
		m := &mods[i]
		if m.field != name {
			continue
		}
		if m.limit == 0 {
			return a.Field.Append(append(append(b, m.name...), ':'), a.Value, a.Mask, n)
		}
		if name == "mpls_label" || name == "mpls_tc" {
			return append(appendUint(append(b, m.name...), "(", a.Value.Lo), ')')
		}
		return appendUint(append(b, m.name...), ":", a.Value.Lo)
	}
	panic("ofp: FormMod of field " + name)
}
