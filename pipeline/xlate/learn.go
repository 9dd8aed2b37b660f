package xlate

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// learnSteps is what learning costs: a lock, and a change of a table.
const learnSteps = 64

// learn makes a flow of the packet and adds it. It is the one action that allocates.
func (x *Xlate) learn(a *ofp.Learn) {
	for i := range a.Specs {
		if s := &a.Specs[i]; s.Src.Field != nil {
			x.look1(&s.Src)
		}
	}
	x.res.Learns = true
	if !x.spend(learnSteps) {
		return
	}
	if !x.in.Effects && x.trace == nil {
		x.learned(a, true)
		return
	}
	m := x.lesson(a)
	x.noteLesson(&m.Flow)
	if !x.in.Effects {
		x.learned(a, true)
		return
	}
	_, err := x.cur.tables.Apply([]ofp.FlowMod{m}, rules.Options{Now: x.in.Now, Learn: true, Limit: a.Limit})
	if err != nil {
		x.noteWarn("not learned: " + err.Error())
	}
	x.learned(a, err == nil)
}

// learned stores whether it was.
func (x *Xlate) learned(a *ofp.Learn, ok bool) {
	if a.Result.Field == nil {
		return
	}
	v := flow.Value{}
	if ok {
		v.Lo = 1
	}
	x.write(&a.Result, v)
}

// lesson is the flow mod that a makes of the packet.
func (x *Xlate) lesson(a *ofp.Learn) ofp.FlowMod {
	m := ofp.FlowMod{Command: ofp.Add, OutPort: ofp.PortNone, OutGroup: ofp.GroupAny}
	f := &m.Flow
	f.Table, f.Priority, f.Cookie = a.Table, a.Priority, a.Cookie
	f.Idle, f.Hard, f.Flags = a.Idle, a.Hard, a.Flags
	for i := range a.Specs {
		s := &a.Specs[i]
		v := s.Value
		if s.Src.Field != nil {
			v = x.read(&s.Src)
		}
		n := uint(s.Bits)
		v = v.And(flow.Ones(n))
		mask := flow.Ones(n).Lsh(uint(s.Dst.Ofs))
		switch s.Kind {
		case ofp.LearnMatch:
			f.Match.Put(s.Dst.Field, v.Lsh(uint(s.Dst.Ofs)), mask)
		case ofp.LearnLoad:
			f.Actions = append(f.Actions, ofp.SetField{
				Field: s.Dst.Field, Value: v.Lsh(uint(s.Dst.Ofs)), Mask: mask, Form: ofp.FormLoad,
			})
		case ofp.LearnOutput:
			f.Actions = append(f.Actions, ofp.Output{Port: uint32(v.Lo)})
		}
	}
	if a.FinIdle != 0 || a.FinHard != 0 {
		f.Actions = append(f.Actions, ofp.FinTimeout{Idle: a.FinIdle, Hard: a.FinHard})
	}
	return m
}
