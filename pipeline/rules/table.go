package rules

import (
	"sort"
	"sync/atomic"

	"github.com/gvswitch/gvswitch/flow"
)

// table is one flow table.
type table struct {
	subs  atomic.Pointer[[]ordered] // by descending priority
	tries [numTries]trie

	lookups, matches atomic.Uint64
	idle, hard       atomic.Uint64 // rules that went by timeouts
	rules            atomic.Int64  // in the newest version
	limit            atomic.Int64  // rules at most, 0: no limit

	// Of writers.
	byMask map[flow.Key]*subtable
	dirty  bool // subs is not as it should be
}

// ordered is a subtable with the highest priority that any rule in it has.
type ordered struct {
	*subtable
	priority uint16
}

func newTable() *table {
	t := &table{byMask: map[flow.Key]*subtable{}}
	t.subs.Store(new([]ordered))
	return t
}

// link puts a rule into its subtable, where versions before the rule's do not see it. Call flush
// before the version is published.
func (t *table) link(r *Rule) {
	full := r.mask.key()
	s := t.byMask[full]
	if s == nil {
		s = newSubtable(&full, r.mask)
		t.byMask[full] = s
	}
	r.mask = s.mask
	t.eachPrefix(r, (*trie).add)
	if s.link(r) {
		t.dirty = true
	}
}

// unlink takes a rule out that no valid version sees.
func (t *table) unlink(r *Rule) {
	full := r.mask.key()
	s := t.byMask[full]
	if s.unlink(r) {
		t.dirty = true
	}
	if s.n == 0 {
		delete(t.byMask, full)
	}
	t.eachPrefix(r, (*trie).remove)
}

// eachPrefix calls f for the prefixes that a rule asks for.
func (t *table) eachPrefix(r *Rule, f func(*trie, uint64, uint64, uint8)) {
	var k flow.Key
	made := false
	for i, n := range r.mask.plen {
		if n == 0 {
			continue
		}
		if !made {
			k, made = r.Match().Key, true
		}
		if e := tries[i].etherType; e != 0 && k.EthType() != e {
			continue
		}
		hi, lo := tries[i].get(&k)
		f(&t.tries[i], hi, lo, n)
	}
}

// flush brings the order of the subtables up to date.
func (t *table) flush() {
	if !t.dirty {
		return
	}
	t.dirty = false
	subs := make([]ordered, 0, len(t.byMask))
	for _, s := range t.byMask {
		subs = append(subs, ordered{s, s.max()})
	}
	sort.Slice(subs, func(i, j int) bool { return subs[i].priority > subs[j].priority })
	t.subs.Store(&subs)
}

// strict finds the rule of a version with the same match and priority as r.
func (t *table) strict(r *Rule, version uint64) *Rule {
	s := t.byMask[r.mask.key()]
	if s == nil {
		return nil
	}
	for o := s.rules.head(r.tag); o != nil && o.Priority >= r.Priority; o = o.next.Load() {
		if o.seen(version) && o.same(r) {
			return o
		}
	}
	return nil
}

// MaxRules is how many rules a table may have that nobody has set another limit for: what packets teach
// (learn) has to have a bound.
const MaxRules = 1_000_000

// most is how many rules the table may have.
func (t *table) most() int {
	if n := int(t.limit.Load()); n != 0 {
		return n
	}
	return MaxRules
}
