package xlate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// The functions of this file write the trace. Without one they do nothing.

func (x *Xlate) note(k nodeKind, text string) {
	if x.trace != nil {
		x.trace.add(k, x.cur.level, text)
	}
}

func (x *Xlate) noteDetail(text string) { x.note(nodeDetail, text) }
func (x *Xlate) noteWarn(text string)   { x.note(nodeWarn, text) }
func (x *Xlate) noteError(text string)  { x.note(nodeError, text) }

func (x *Xlate) startTrace() {
	if t := x.trace; t != nil {
		t.reset()
		t.flow = keyText(x.orig)
	}
}

func (x *Xlate) noteBridge(b Bridge) {
	if x.trace != nil {
		x.note(nodeBridge, fmt.Sprintf("bridge(%q)", b.Name()))
		x.cur.level++
	}
}

// noteTable says what a lookup found, nil: nothing. What the rule does belongs to that.
func (x *Xlate) noteTable(id uint8, r *rules.Rule) {
	t := x.trace
	if t == nil {
		return
	}
	if r == nil {
		x.note(nodeTable, fmt.Sprintf("%2d. No match.", id))
		t.add(nodeAction, x.cur.level+1, "drop")
		return
	}
	m := r.Match()
	b := m.Append(fmt.Appendf(nil, "%2d. ", id), t.Names)
	if !strings.HasSuffix(string(b), " ") {
		b = append(b, ", "...)
	}
	b = fmt.Appendf(b, "priority %d", r.Priority)
	if r.Cookie != 0 {
		b = fmt.Appendf(b, ", cookie %#x", r.Cookie)
	}
	x.note(nodeTable, string(b))
	x.cur.level++
	if len(r.Actions) == 0 {
		x.note(nodeAction, "drop")
	}
}

func (x *Xlate) noteAction(a ofp.Action) {
	if t := x.trace; t != nil {
		x.note(nodeAction, string(ofp.AppendActions(nil, []ofp.Action{a}, t.Names)))
	}
}

// noteWritten shows the action set.
func (x *Xlate) noteWritten() {
	t := x.trace
	if t == nil {
		return
	}
	var list []ofp.Action
	for i := x.cur.set; i >= 0; i = x.sets[i].before {
		list = append(list, x.sets[i].action)
	}
	slices.Reverse(list)
	if len(list) == 0 {
		x.noteDetail("action set is empty")
		return
	}
	x.noteDetail("action set is: " + string(ofp.AppendActions(nil, list, t.Names)))
}

func (x *Xlate) noteActionSet() {
	if x.trace != nil {
		x.note(nodeTable, "--. Executing action set:")
		x.cur.level++
	}
}

func (x *Xlate) noteUsing(b *rules.Bucket) {
	if x.trace != nil {
		x.note(nodeDetail, fmt.Sprintf("using bucket %d", b.Def.ID))
	}
}

func (x *Xlate) noteBucket(b *rules.Bucket) {
	if x.trace != nil {
		x.note(nodeBucket, fmt.Sprintf("bucket %d", b.Def.ID))
		x.cur.level++
	}
}

func (x *Xlate) noteQueue(id uint32) {
	if x.trace != nil {
		x.note(nodeDetail, fmt.Sprintf("queue = %#x", id))
	}
}

func (x *Xlate) noteUnmet(f *flow.Field) {
	if x.trace != nil {
		x.note(nodeWarn, "unmet prerequisites for "+f.Name+", set_field ignored")
	}
}

// noteSubfield says what was stored in part of a field.
func (x *Xlate) noteSubfield(s *ofp.Subfield) {
	if x.trace == nil {
		return
	}
	v := s.Field.GetBits(&x.cur.packet.key, uint(s.Ofs), uint(s.Bits))
	text := fmt.Sprintf("%#x", v.Lo)
	if v.Hi != 0 {
		text = fmt.Sprintf("%#x%016x", v.Hi, v.Lo)
	}
	x.note(nodeDetail, string(ofp.AppendSubfield(nil, *s))+" is now "+text)
}

// noteLesson shows the flow that was learned.
func (x *Xlate) noteLesson(f *ofp.Flow) {
	if t := x.trace; t != nil {
		x.note(nodeDetail, strings.TrimSpace(string(f.Append(nil, t.Names))))
	}
}

func (x *Xlate) endTrace() {
	t := x.trace
	if t == nil {
		return
	}
	r := &x.res
	first := *x.orig
	first[flow.WordPipe] |= portUnset
	t.final = "unchanged"
	if r.Final != first {
		t.final = keyText(&r.Final)
	}
	m := flow.Match{Key: *x.orig, Mask: r.Mask}
	for i := range m.Key {
		m.Key[i] &= m.Mask[i]
	}
	t.megaflow = string(m.Append(nil, t.Names))
	if t.megaflow == "" {
		t.megaflow = "any"
	}
	t.action = string(odp.AppendActions(nil, r.Actions, x.orig, t.DPNames))
	switch {
	case x.failed:
		t.end = "Translation failed (" + r.Why.String() + "), packet is dropped.\n"
	case r.Why != packet.DropNone:
		t.end = "Dropped: " + r.Why.String() + "\n"
	}
}

// keyText is a packet as a match of all its fields; of those that only the pipeline gives a packet, the ones that are
// not 0.
func keyText(k *flow.Key) string {
	var m flow.Match
	for _, f := range flow.Fields() {
		var bits flow.Key
		f.Set(&bits, f.All())
		base := false
		for _, w := range bits[:flow.BaseWords] {
			base = base || w != 0
		}
		if base && f.Present(k) && (f.Name != "recirc_id" || k.RecircID() != 0) {
			f.Set(&m.Mask, f.All())
		}
	}
	halves := func(w int) {
		for _, half := range []uint64{0xffffffff << 32, 0xffffffff} {
			if k[w]&half != 0 {
				m.Mask[w] |= half
			}
		}
	}
	for w := flow.WordReg; w < flow.WordMeta; w++ {
		halves(w)
	}
	halves(flow.WordMark)
	halves(flow.WordQueue)
	for _, w := range []int{flow.WordMeta, flow.WordTunID} {
		if k[w] != 0 {
			m.Mask[w] = ^uint64(0)
		}
	}
	for i := range m.Key {
		m.Key[i] = k[i] & m.Mask[i]
	}
	return m.String()
}
