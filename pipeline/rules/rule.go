package rules

import (
	"math"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

// never is the version in which a rule goes that stays.
const never = math.MaxUint64

// Rule is a flow in a table. What is exported never changes. Of the match it keeps
// only the words that its mask has, where a flow.Match has 704 bytes.
type Rule struct {
	Actions    []ofp.Action
	Cookie     uint64
	Priority   uint16
	Idle, Hard uint16
	Importance uint16
	Flags      uint16
	Table      uint8
	traits     traits

	tag     uint32 // of the whole match
	seq     uint32 // of rules that came in the same version, the order
	added   uint64 // the version in which it came
	removed atomic.Uint64
	next    atomic.Pointer[Rule] // in its chain: lower priority, or older
	mask    *mask
	vals    []uint64 // the match, a word for each of mask's
	*counters
	timer *timer // if it has timeouts
	kept  bool   // by Replace; big writer only
}

// counters outlive a rule whose actions are modified.
type counters struct {
	packets, bytes atomic.Uint64
	used           atomic.Int64
	modified       atomic.Int64
	created        int64
}

// newRule makes a rule of a flow. m is the flow's mask.
func newRule(f *ofp.Flow, m *mask, now int64) *Rule {
	r := &Rule{
		Actions: f.Actions, Cookie: f.Cookie, Priority: f.Priority, Idle: f.Idle, Hard: f.Hard,
		Importance: f.Importance, Flags: f.Flags, Table: f.Table, traits: traitsOf(f.Actions),
	}
	r.removed.Store(never)
	r.mask = m
	if n := len(m.words); n != 0 {
		r.vals = make([]uint64, n)
	}
	h := seed
	for i, w := range m.words {
		r.vals[i] = f.Match.Key[w.i] & w.bits
		h = mixed(h, r.vals[i], w.i)
	}
	r.tag = tag(h)
	r.start(now)
	return r
}

// start gives the rule new counters.
func (r *Rule) start(now int64) {
	r.counters = &counters{created: now}
	r.used.Store(now)
	r.modified.Store(now)
}

// with is r with other actions, its counters shared.
func (r *Rule) with(actions []ofp.Action, cookie uint64) *Rule {
	n := &Rule{
		Actions: actions, Cookie: cookie, Priority: r.Priority, Idle: r.Idle, Hard: r.Hard,
		Importance: r.Importance, Flags: r.Flags, Table: r.Table, traits: traitsOf(actions),
		tag: r.tag, mask: r.mask, vals: r.vals, counters: r.counters,
	}
	n.removed.Store(never)
	return n
}

// Match is what the rule asks of a packet.
func (r *Rule) Match() (m flow.Match) {
	for i, w := range r.mask.words {
		m.Mask[w.i] = w.bits
		m.Key[w.i] = r.vals[i]
	}
	return m
}

// Flow is the flow that the rule came from. Its match is made anew, the actions are shared.
func (r *Rule) Flow() ofp.Flow {
	return ofp.Flow{
		Table: r.Table, Priority: r.Priority, Cookie: r.Cookie, Match: r.Match(), Actions: r.Actions,
		Idle: r.Idle, Hard: r.Hard, Importance: r.Importance, Flags: r.Flags,
	}
}

// matches tells whether k is as the rule asks.
func (r *Rule) matches(k *flow.Key) bool {
	m := r.mask.words
	for i, v := range r.vals {
		w := &m[i]
		if k[w.i]&w.bits != v {
			return false
		}
	}
	return true
}

// same tells whether two rules of one table have the same match and priority.
func (r *Rule) same(o *Rule) bool {
	if r.tag != o.tag || r.Priority != o.Priority || len(r.vals) != len(o.vals) {
		return false
	}
	for i := range r.vals {
		if r.vals[i] != o.vals[i] || r.mask.words[i] != o.mask.words[i] {
			return false
		}
	}
	return true
}

// seen tells whether the rule is there in a version.
func (r *Rule) seen(version uint64) bool {
	return r.added <= version && r.removed.Load() > version
}

// Gone tells whether the rule is no longer there in a version.
func (r *Rule) Gone(version uint64) bool { return r.removed.Load() <= version }

// Add counts packets that the rule matched; now, in milliseconds, is when the last of them
// came. Any thread may call it.
func (r *Rule) Add(packets, bytes uint64, now int64) {
	c := r.counters
	c.packets.Add(packets)
	c.bytes.Add(bytes)
	later(&c.used, now)
}

// later moves a time forward.
func later(t *atomic.Int64, now int64) {
	for {
		old := t.Load()
		if now <= old || t.CompareAndSwap(old, now) {
			return
		}
	}
}

// Packets is how many packets were counted.
func (r *Rule) Packets() uint64 { return r.packets.Load() }

// Bytes is how many bytes were counted.
func (r *Rule) Bytes() uint64 { return r.bytes.Load() }

// Used is when the last packet came, in milliseconds; the creation if none did.
func (r *Rule) Used() int64 { return r.used.Load() }

// Created is when the flow was added, in milliseconds.
func (r *Rule) Created() int64 { return r.created }

// Modified is when it was last modified, or learned again, in milliseconds.
func (r *Rule) Modified() int64 { return r.modified.Load() }
