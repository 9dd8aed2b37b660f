package rules

import (
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// Shape says what the rules of a bridge look at, so that the datapath can take a shorter way.
type Shape struct {
	Version    uint64
	Rules      int
	OnlyNormal bool     // the only rule is in table 0, matches all, and its only action is NORMAL
	Normal     bool     // some rule or bucket outputs to NORMAL, FLOOD or ALL
	Learn      bool     // some rule learns
	Looks      flow.Key // bits that a match or an action (not NORMAL) of any table or group looks at or sets
	Tables     []TableShape

	stamp uint64
}

// TableShape is Shape for a table that has rules.
type TableShape struct {
	Table uint8
	Rules int
	Masks int      // how many different ones
	Looks flow.Key // union of the masks
}

// Shape is the present shape. It is not to be changed. It may say more than is needed, never less, for
// rules of its version and older ones that are still valid. When nothing changed since
// the last call it costs two loads.
func (t *Tables) Shape() *Shape {
	for {
		stamp, v := t.stamp.Load(), t.Version()
		if s := t.shape.Load(); s != nil && s.stamp == stamp && s.Version == v {
			return s
		}
		s := t.newShape(stamp, v)
		if t.Version() == v {
			t.shape.Store(s)
			return s
		}
	}
}

func (t *Tables) newShape(stamp, version uint64) *Shape {
	s := &Shape{Version: version, stamp: stamp}
	t.lockPiece()
	s.Normal, s.Learn = t.normals > 0, t.learners > 0
	for k := range t.reads {
		or(&s.Looks, &k)
	}
	t.mu.Unlock()
	for _, g := range t.Groups() {
		for i := range g.Def.Buckets {
			a := g.Def.Buckets[i].Actions
			looksAt(a, &s.Looks)
			s.Normal = s.Normal || traitsOf(a)&normal != 0
		}
		if g.Def.Type == ofp.GroupSelect {
			looksAtFlow(&s.Looks)
			for _, f := range g.Def.Fields {
				f.Set(&s.Looks, f.All())
			}
		}
	}
	for i := range t.tables {
		tb := t.tables[i].Load()
		if tb == nil {
			continue
		}
		subs := *tb.subs.Load()
		n := int(tb.rules.Load())
		if len(subs) == 0 && n == 0 {
			continue
		}
		x := TableShape{Table: uint8(i), Rules: n, Masks: len(subs)}
		for _, sub := range subs {
			sub.mask.addTo(&x.Looks, uint8(len(sub.mask.words)))
		}
		or(&s.Looks, &x.Looks)
		s.Rules += x.Rules
		s.Tables = append(s.Tables, x)
	}
	s.OnlyNormal = s.Rules == 1 && t.onlyNormal(version)
	return s
}

// onlyNormal tells whether table 0 has a rule that matches all and does NORMAL.
func (t *Tables) onlyNormal(version uint64) bool {
	tb := t.tables[0].Load()
	if tb == nil {
		return false
	}
	var k, wc flow.Key
	r := tb.lookup(version, &k, &wc, new(Scratch))
	return r != nil && len(r.mask.words) == 0 && len(r.Actions) == 1 && r.Actions[0] == ofp.Action(ofp.Output{Port: ofp.PortNormal})
}

// trait counts rules for Shape. Preconditions: mu.
func (t *Tables) trait(r *Rule, n int) {
	if r.traits&normal != 0 {
		t.normals += n
	}
	if r.traits&learns != 0 {
		t.learners += n
	}
	if r.traits&looks == 0 {
		return
	}
	var k flow.Key
	looksAt(r.Actions, &k)
	if t.reads[k] += n; t.reads[k] == 0 {
		delete(t.reads, k)
	}
}

// or sets the bits of b in a.
func or(a, b *flow.Key) {
	for i := range a {
		a[i] |= b[i]
	}
}
