package rules

import "github.com/gvswitch/gvswitch/pipeline/ofp"

const (
	// piece is how many rules of a large change are changed under one lock: some 50 microseconds' work.
	piece = 16
	// maxSmall is how many flow mods a small change has at most.
	maxSmall = 32
)

// txn is a change under way. What it did so far is seen from version v on, which is
// not published.
type txn struct {
	*Tables
	o     Options
	v     uint64
	large bool
	added []*Rule
	gone  []gone
	heirs map[*Rule]*Rule // of a large one: what a rule was modified to
	delta []delta
	ch    Changed
}

// gone is a rule that is removed, and the version in which it would have gone before.
type gone struct {
	r   *Rule
	was uint64
}

// delta is how many more rules a table has.
type delta struct {
	table uint8
	rules int
}

func (x *txn) count(table uint8, n int) {
	for i := range x.delta {
		if x.delta[i].table == table {
			x.delta[i].rules += n
			return
		}
	}
	x.delta = append(x.delta, delta{table, n})
}

func (x *txn) rules(table uint8) int {
	n := 0
	for i := range x.delta {
		if x.delta[i].table == table {
			n = x.delta[i].rules
		}
	}
	return n + int(x.table(table).rules.Load())
}

// one does a strict op. Preconditions: mu.
func (x *txn) one(o *op) *Error {
	tb := x.table(o.rule.Table)
	old := tb.strict(o.rule, x.v)
	switch o.cmd {
	case ofp.Add:
		switch {
		case old == nil:
			return x.insert(o)
		case x.o.Learn && old.equal(o.rule):
			x.renew(old)
		case o.keep && old.equal(o.rule):
			old.kept, o.kept = true, old
		default:
			x.kill(old)
			x.ch.Added++
			o.used = true
			x.add(o.rule)
		}
	case ofp.ModifyStrict:
		switch {
		case old == nil && o.cookieMask == 0:
			return x.insert(o)
		case old != nil && o.means(old):
			x.modify(old, o)
		}
	case ofp.DeleteStrict:
		if old != nil && o.means(old) {
			x.kill(old)
			x.ch.Removed++
		}
	}
	return nil
}

// insert adds a rule that replaces none, if the limits allow it.
func (x *txn) insert(o *op) *Error {
	r := o.rule
	if n := x.table(r.Table).most(); x.rules(r.Table) >= n {
		return refuse(TableFull, "table %d is full: it may have %d flows", r.Table, n)
	}
	if n := int(x.o.Limit); n != 0 && x.counted[cookieOf{r.Cookie, r.Table}] >= n {
		return refuse(LimitReached, "table %d has %d flows of cookie %#x, which is the limit", r.Table, n, r.Cookie)
	}
	if o.isModify() && r.Cookie == ^uint64(0) {
		r.Cookie = 0
	}
	x.ch.Added++
	o.used = true
	x.add(r)
	return nil
}

// renew sets the time that timeouts count from.
func (x *txn) renew(r *Rule) {
	later(&r.modified, x.o.Now)
	x.ch.Modified++
}

// modify gives a rule other actions. Its cookie changes if the op has one that is no filter.
func (x *txn) modify(old *Rule, o *op) {
	cookie := old.Cookie
	if o.cookieMask == 0 && o.rule.Cookie != 0 && o.rule.Cookie != ^uint64(0) {
		cookie = o.rule.Cookie
	}
	reset := o.rule.Flags&ofp.ResetCounts != 0
	if cookie == old.Cookie && !reset && sameActions(old.Actions, o.rule.Actions) {
		x.renew(old)
		return
	}
	r := old.with(o.rule.Actions, cookie)
	if reset {
		r.start(x.o.Now)
		r.created = old.created
	}
	x.renew(r)
	x.kill(old)
	x.add(r)
	if x.large {
		x.heirs[old] = r
	}
}

// add links a rule. Preconditions: mu.
func (x *txn) add(r *Rule) {
	r.added = x.v
	x.seq++
	r.seq = x.seq
	x.table(r.Table).link(r)
	x.linked(r)
	x.added = append(x.added, r)
	x.count(r.Table, 1)
	x.ch.Tags |= TableTag(r.Table)
}

// kill has a rule go. Preconditions: mu.
func (x *txn) kill(r *Rule) {
	x.gone = append(x.gone, gone{r, r.removed.Load()})
	r.removed.Store(x.v)
	x.count(r.Table, -1)
	x.ch.Tags |= TableTag(r.Table)
}

// publish makes the change visible. Preconditions: mu. It leaves the rules that went for settle.
func (x *txn) publish() {
	for _, d := range x.delta {
		tb := x.table(d.table)
		tb.rules.Add(int64(d.rules))
		tb.flush()
	}
	x.changed.mark(x.ch.Tags, x.v)
	x.version.Store(x.v)
	x.ch.Version = x.v
	if x.pending != nil && !x.large {
		x.log = append(x.log, x.added...)
		for _, g := range x.gone {
			x.log = append(x.log, g.r)
			if g.was != never { // it was counted there
				x.pending.count(g.r.Table, 1)
			}
		}
	}
}

// undo takes back some of the last things that were done; false: there is nothing left. Preconditions: mu.
func (x *txn) undo(n int) bool {
	for ; n > 0 && len(x.added) > 0; n-- {
		r := x.added[len(x.added)-1]
		x.added = x.added[:len(x.added)-1]
		x.unlinked(r)
		x.went(r, false)
		x.table(r.Table).unlink(r)
	}
	for ; n > 0 && len(x.gone) > 0; n-- {
		g := x.gone[len(x.gone)-1]
		x.gone = x.gone[:len(x.gone)-1]
		g.r.removed.CompareAndSwap(x.v, g.was)
	}
	for _, d := range x.delta {
		x.table(d.table).flush()
	}
	return len(x.added)+len(x.gone) != 0
}

// linked counts a rule that came.
func (t *Tables) linked(r *Rule) {
	if r.Idle|r.Hard != 0 {
		t.timers.add(r)
	}
	t.counted[cookieOf{r.Cookie, r.Table}]++
	if r.traits&unlearns != 0 {
		eachLearned(r, func(c cookieOf) { t.learned[c]++ })
	}
}

// went counts a rule that is seen no more. If it was the last one that learned flows which are to
// go with it, they are orphans.
func (t *Tables) went(r *Rule, orphans bool) {
	c := cookieOf{r.Cookie, r.Table}
	if n := t.counted[c] - 1; n != 0 {
		t.counted[c] = n
	} else {
		delete(t.counted, c)
	}
	if r.traits&unlearns != 0 {
		eachLearned(r, func(c cookieOf) {
			if t.learned[c]--; t.learned[c] <= 0 {
				delete(t.learned, c)
				if orphans {
					t.orphans = append(t.orphans, c)
				}
			}
		})
	}
}

// unlinked counts a rule that is about to be taken out of its table.
func (t *Tables) unlinked(r *Rule) {
	if r.timer != nil {
		t.timers.remove(r)
	}
}

// eachLearned calls f for the cookies of flows that go when r does.
func eachLearned(r *Rule, f func(cookieOf)) {
	walk(r.Actions, func(a ofp.Action) bool {
		if l, ok := a.(ofp.Learn); ok && l.DeleteLearned {
			f(cookieOf{l.Cookie, l.Table})
		}
		return true
	})
}
