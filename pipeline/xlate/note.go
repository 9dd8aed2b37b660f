package xlate

import (
	"fmt"
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
	b := m.Append(fmt.Appendf(nil, "%2d. ", id), portNames(t.Names))
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

// portNames is n for flow, where a nil of another type would not be nil.
func portNames(n ofp.Names) flow.PortNames {
	if n == nil {
		return nil
	}
	return n
}

func (x *Xlate) noteAction(a ofp.Action) {
	if t := x.trace; t != nil {
		x.note(nodeAction, string(ofp.AppendActions(nil, []ofp.Action{a}, t.Names)))
	}
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
	part := "[]"
	if int(s.Bits) < s.Field.Bits {
		part = fmt.Sprintf("[%d..%d]", s.Ofs, s.Ofs+s.Bits-1)
		if s.Bits == 1 {
			part = fmt.Sprintf("[%d]", s.Ofs)
		}
	}
	x.note(nodeDetail, s.Field.Name+part+" is now "+text)
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
	t.megaflow = string(m.Append(nil, portNames(t.Names)))
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

// keyText is a key with what the pipeline put into it.
func keyText(k *flow.Key) string {
	var b strings.Builder
	for i := range 16 {
		if v := uint32(k[flow.WordReg+i/2] >> (32 * (1 - i%2))); v != 0 {
			fmt.Fprintf(&b, "reg%d=%#x,", i, v)
		}
	}
	if v := k[flow.WordMeta]; v != 0 {
		fmt.Fprintf(&b, "metadata=%#x,", v)
	}
	if v := k[flow.WordTunID]; v != 0 {
		fmt.Fprintf(&b, "tun_id=%#x,", v)
	}
	if v := uint32(k[flow.WordMark]); v != 0 {
		fmt.Fprintf(&b, "pkt_mark=%#x,", v)
	}
	if v := k[flow.WordQueue] >> 32; v != 0 {
		fmt.Fprintf(&b, "skb_priority=%#x,", v)
	}
	return b.String() + flow.Format(k)
}
