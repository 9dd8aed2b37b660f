package rules

import (
	"reflect"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// traits say what a rule's actions contain.
type traits uint8

const (
	normal      traits = 1 << iota // output to NORMAL, FLOOD or ALL
	learns                         // learn
	unlearns                       // learn with delete_learned
	conjunctive                    // conjunction: the rule is a clause of a conjunctive match
	looks                          // reads or sets fields of the packet
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
	for _, a := range actions {
		switch a := a.(type) {
		case ofp.Output:
			if a.Port == ofp.PortNormal || a.Port == ofp.PortFlood || a.Port == ofp.PortAll {
				t |= normal
			}
		case ofp.Conjunction:
			t |= conjunctive
		case ofp.Learn:
			t |= learns | looks
			if a.DeleteLearned {
				t |= unlearns
			}
		case ofp.Clone:
			t |= traitsOf(a.Actions)
		case ofp.WriteActions:
			t |= traitsOf(a.Actions)
		case ofp.Resubmit, ofp.GotoTable, ofp.Group, ofp.Meter, ofp.Controller, ofp.Note,
			ofp.Enqueue, ofp.SetQueue, ofp.PopQueue, ofp.ClearActions, ofp.Exit, ofp.Sample:
		default:
			t |= looks
		}
	}
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

// looksAt sets in m the bits of packets that actions read or set.
func looksAt(actions []ofp.Action, m *flow.Key) {
	sub := func(s ofp.Subfield) {
		if s.Field != nil {
			s.Field.SetBits(m, uint(s.Ofs), uint(s.Bits))
			s.Field.Needs(m)
		}
	}
	walk(actions, func(a ofp.Action) bool {
		switch a := a.(type) {
		case ofp.OutputReg:
			sub(a.Src)
		case ofp.SetField:
			a.Field.Set(m, a.Mask)
			a.Field.Needs(m)
		case ofp.Move:
			sub(a.Src)
			sub(a.Dst)
		case ofp.StackPush:
			sub(a.Sub)
		case ofp.StackPop:
			sub(a.Sub)
		case ofp.Bundle:
			sub(a.Dst)
			looksAtFlow(m)
		case ofp.Multipath:
			sub(a.Dst)
			looksAtFlow(m)
		case ofp.CheckPktLarger:
			sub(a.Dst)
		case ofp.Learn:
			sub(a.Result)
			for i := range a.Specs {
				sub(a.Specs[i].Src)
			}
		case ofp.SetVLANVID, ofp.SetVLANPCP, ofp.PopVLAN, ofp.PushVLAN:
			m[flow.WordVLAN] = ^uint64(0)
		case ofp.DecTTL:
			m[flow.WordSrc] |= 0xffff
			m[flow.WordIP] |= 0xff << 40
		case ofp.PushMPLS, ofp.PopMPLS, ofp.SetMPLSTTL, ofp.DecMPLSTTL:
			looksAtFlow(m)
			m[flow.WordMPLS], m[flow.WordMPLS2] = ^uint64(0), ^uint64(0)
		case ofp.CT, ofp.CTClear:
			looksAtFlow(m)
			m[flow.WordCT] = ^uint64(0)
		case ofp.SetTunnel:
			m[flow.WordTunID] = ^uint64(0)
		case ofp.WriteMetadata:
			m[flow.WordMeta] |= a.Mask
		}
		return true
	})
}

// looksAtFlow sets what hashes are made of.
func looksAtFlow(m *flow.Key) {
	for _, w := range []int{
		flow.WordDst, flow.WordSrc, flow.WordVLAN, flow.WordIP, flow.WordIPSrc, flow.WordIPSrcLo,
		flow.WordIPDst, flow.WordIPDstLo, flow.WordTP,
	} {
		m[w] = ^uint64(0)
	}
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
