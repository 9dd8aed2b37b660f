package ofp

import "fmt"

// rank is the place of an instruction in a flow; actions that are no instructions are applied in
// their place.
type rank uint8

const (
	rankMeter rank = iota
	rankApply
	rankClear
	rankWrite
	rankMetadata
	rankGoto
)

// rankNames are the instructions as OpenFlow calls them.
var rankNames = [...]string{"meter", "apply_actions", "clear_actions", "write_actions", "write_metadata", "goto_table"}

func rankOf(a Action) rank {
	switch a.(type) {
	case Meter:
		return rankMeter
	case ClearActions:
		return rankClear
	case WriteActions:
		return rankWrite
	case WriteMetadata:
		return rankMetadata
	case GotoTable:
		return rankGoto
	}
	return rankApply
}

// verify checks that the actions may stand together, in their order, in the action outer ("" if in none).
func verify(list []Action, instructions bool, outer string) error {
	last := rankMeter
	for i, a := range list {
		if _, ok := a.(Conjunction); ok {
			return verifyConjunction(list)
		}
		if err := verifyNested(a, outer); err != nil {
			return err
		}
		r := rankOf(a)
		if i > 0 && (r < last || r == last && r != rankApply) {
			if r == last {
				return fmt.Errorf("instruction %s: it may be used only once", rankNames[r])
			}
			return fmt.Errorf("instruction %s: it must stand before %s", rankNames[r], rankNames[last])
		}
		if !instructions && r > rankApply {
			return fmt.Errorf("instruction %s: it may not stand in actions", rankNames[r])
		}
		last = r
	}
	return nil
}

func verifyConjunction(list []Action) error {
	for _, a := range list {
		switch a.(type) {
		case Conjunction, Note:
		default:
			return fmt.Errorf("action conjunction: there is another action beside it, %s, and only note may be", AppendActions(nil, []Action{a}, nil))
		}
	}
	return nil
}

// verifyNested checks that a may stand in outer.
func verifyNested(a Action, outer string) error {
	field := ""
	switch a := a.(type) {
	case SetField:
		if a.Form != FormMod {
			field = a.Field.Name
		}
	case Move:
		field = a.Dst.Field.Name
	}
	ct := field == "ct_mark" || field == "ct_label"
	switch {
	case ct && outer != "ct":
		return fmt.Errorf("field %s: only actions in ct(exec(...)) may set it", field)
	case outer == "ct" && !ct:
		return fmt.Errorf("ct: exec may only set ct_mark and ct_label, not %s", AppendActions(nil, []Action{a}, nil))
	}
	if _, ok := a.(Meter); ok && outer != "" {
		return fmt.Errorf("action %s: there may be no meter in it", outer)
	}
	if outer == "write_actions" && !inActionSet(a) {
		return fmt.Errorf("write_actions: %s has no place in an action set", AppendActions(nil, []Action{a}, nil))
	}
	return nil
}

// inActionSet tells whether an action set may hold a.
func inActionSet(a Action) bool {
	switch a.(type) {
	case Output, Group, Resubmit, CT, CTClear, SetField, Move, SetVLANVID, SetVLANPCP, PopVLAN, PushVLAN,
		PushMPLS, PopMPLS, DecTTL, SetMPLSTTL, DecMPLSTTL, SetTunnel, SetQueue:
		return true
	case Controller:
		return true
	}
	return false
}
