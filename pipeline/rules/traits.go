package rules

import (
	"reflect"

	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// traits say what a rule's actions contain.
type traits uint8

const (
	unlearns    traits = 1 << iota // learn with delete_learned
	conjunctive                    // conjunction: the rule is a clause of a conjunctive match
)

// walk calls f for all actions, also those within others, until it says false.
func walk(actions []ofp.Action, f func(ofp.Action) bool) bool {
	for _, a := range actions {
		if !f(a) {
			return false
		}
		switch a := a.(type) {
		case ofp.Clone:
			if !walk(a.Actions, f) {
				return false
			}
		case ofp.WriteActions:
			if !walk(a.Actions, f) {
				return false
			}
		}
	}
	return true
}

func traitsOf(actions []ofp.Action) (t traits) {
	walk(actions, func(a ofp.Action) bool {
		switch a := a.(type) {
		case ofp.Conjunction:
			t |= conjunctive
		case ofp.Learn:
			if a.DeleteLearned {
				t |= unlearns
			}
		}
		return true
	})
	return t
}

// outputs tells whether actions output to a port.
func outputs(actions []ofp.Action, port uint32) bool {
	return !walk(actions, func(a ofp.Action) bool {
		switch a := a.(type) {
		case ofp.Output:
			return a.Port != port
		case ofp.Enqueue:
			return a.Port != port
		case ofp.Controller:
			return port != ofp.PortController
		}
		return true
	})
}

// usesGroup tells whether actions use a group; GroupAll: any.
func usesGroup(actions []ofp.Action, id uint32) bool {
	return !walk(actions, func(a ofp.Action) bool {
		g, ok := a.(ofp.Group)
		return !ok || g.ID != id && id != GroupAll
	})
}

// usesMeter tells whether actions use a meter; MeterAll: any.
func usesMeter(actions []ofp.Action, id uint32) bool {
	return !walk(actions, func(a ofp.Action) bool {
		m, ok := a.(ofp.Meter)
		return !ok || m.ID != id && id != MeterAll
	})
}

// sameActions tells whether two lists do the same.
func sameActions(a, b []ofp.Action) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		switch x := a[i].(type) {
		case ofp.Output:
			if y, ok := b[i].(ofp.Output); !ok || x != y {
				return false
			}
		case ofp.SetField:
			if y, ok := b[i].(ofp.SetField); !ok || x != y {
				return false
			}
		default:
			if !reflect.DeepEqual(a[i], b[i]) {
				return false
			}
		}
	}
	return true
}

// equal tells whether two rules of the same match are the same in all else.
func (r *Rule) equal(o *Rule) bool {
	return r.Cookie == o.Cookie && r.Idle == o.Idle && r.Hard == o.Hard && r.Importance == o.Importance &&
		r.Flags == o.Flags && sameActions(r.Actions, o.Actions)
}
