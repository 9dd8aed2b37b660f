package rules

import "github.com/gvswitch/gvswitch/pipeline/ofp"

// large does a change in pieces. Small changes that happen meanwhile get lower versions; what they
// did is looked at in the end as if the large one had come after.
func (t *Tables) large(ops []op, o Options, rest *op) (Changed, *Error) {
	t.big.Lock()
	defer t.big.Unlock()
	x := &txn{Tables: t, o: o, large: true, heirs: map[*Rule]*Rule{}}
	t.lockPiece()
	x.v = (t.Version()>>32 + 1) << 32
	t.pending, t.log = x, nil
	t.mu.Unlock()

	err := x.all(ops)
	if err == nil && rest != nil {
		err = x.loose(rest, func(r *Rule) bool { return r.kept || r.added == x.v })
	}
	if err != nil {
		x.abort()
	} else {
		x.reconcile(ops, rest)
	}
	for i := range ops {
		if ops[i].kept != nil {
			ops[i].kept.kept = false
		}
	}
	if err != nil {
		return Changed{}, err
	}
	x.settle()
	t.reclaim()
	return x.ch, nil
}

// all does all ops.
func (x *txn) all(ops []op) *Error {
	for i := 0; i < len(ops); {
		o := &ops[i]
		var err *Error
		switch {
		case !o.strict():
			err = x.loose(o, nil)
			i++
		default:
			if o.cmd == ofp.Add && o.rule.Flags&ofp.CheckOverlap != 0 {
				err = x.checkOverlap(o.rule)
			}
			x.lockPiece()
			for n := 0; err == nil && n < piece; n++ {
				if err = x.one(o); err != nil {
					break
				}
				i++
				if i == len(ops) {
					break
				}
				if o = &ops[i]; !o.strict() || o.rule.Flags&ofp.CheckOverlap != 0 {
					break
				}
			}
			x.mu.Unlock()
		}
		if err != nil {
			err.Index = min(i, len(ops)-1)
			return err
		}
	}
	return nil
}

// loose does an op on all rules that it selects, but for those that spare says.
func (x *txn) loose(o *op, spare func(*Rule) bool) *Error {
	targets := x.collect(o, x.v)
	if len(targets) == 0 && o.isModify() && o.cookieMask == 0 {
		x.lockPiece()
		defer x.mu.Unlock()
		if o.rule.Table == ofp.TableAll {
			o.rule.Table = 0
		}
		if o.rule.Table >= ofp.MaxTables {
			return refuse(BadTable, "there is no table %d", o.rule.Table)
		}
		return x.insert(o)
	}
	for len(targets) > 0 {
		n := min(piece, len(targets))
		x.lockPiece()
		for _, r := range targets[:n] {
			if !r.seen(x.v) || spare != nil && spare(r) {
				continue
			}
			if o.isModify() {
				x.modify(r, o)
			} else {
				x.kill(r)
				x.ch.Removed++
			}
		}
		x.mu.Unlock()
		targets = targets[n:]
	}
	return nil
}

// checkOverlap refuses a rule if there is another one with its priority that matches some packet that it
// matches. An add of a small change in the same moment may escape it.
func (x *txn) checkOverlap(r *Rule) (err *Error) {
	x.lockPiece()
	replaces := x.table(r.Table).strict(r, x.v) != nil
	x.mu.Unlock()
	if replaces {
		return nil
	}
	x.eachRule(r.Table, func(o *Rule) {
		if err == nil && o.Priority == r.Priority && o.seen(x.v) && r.overlaps(o) {
			err = refuse(Overlap, "overlaps with a flow of table %d with the same priority, %d", r.Table, r.Priority)
		}
	})
	return err
}

// abort takes all back.
func (x *txn) abort() {
	for more := true; more; {
		x.lockPiece()
		if more = x.undo(piece); !more {
			x.pending, x.log = nil, nil
		}
		x.mu.Unlock()
	}
}

// reconcile looks at what others did meanwhile, and publishes.
func (x *txn) reconcile(ops []op, rest *op) {
	var ix index
	x.lockPiece()
	for pass := 0; len(x.log) != 0; pass++ {
		log := x.log
		x.log = nil
		// Looking at them takes time, in which there may be more. In the end, others have to wait.
		alone := pass >= maxPasses
		if !alone {
			x.mu.Unlock()
		}
		if ix.strict == nil {
			ix.fill(ops)
		}
		for _, r := range log {
			v := ix.verdict(ops, r)
			if !alone {
				x.lockPiece()
			}
			x.overtake(r, v, rest)
			if !alone {
				x.mu.Unlock()
			}
		}
		if !alone {
			x.lockPiece()
		}
	}
	x.publish()
	x.pending = nil
	x.mu.Unlock()
}

// maxPasses is how often reconcile looks at what happened while it looked.
const maxPasses = 50

// overtake does to a rule of the log what the large change would have done. Preconditions: mu.
func (x *txn) overtake(r *Rule, v verdict, rest *op) {
	if r.seen(x.v) { // it came, and no op has met it yet
		switch {
		case v.dead || rest != nil && !r.kept && r.added != x.v:
			x.kill(r)
			x.ch.Removed++
		case v.change != nil:
			x.modify(r, v.change)
		}
		return
	}
	if r.removed.Load() >= x.v {
		return // by this change
	}
	if h := x.heirs[r]; h != nil { // it went, so there was nothing to modify
		for n := h; n != nil; n = x.heirs[h] {
			h = n
		}
		if h.seen(x.v) {
			x.kill(h)
		}
	}
	if v.kept != nil && !v.kept.used { // it was to stay
		x.one(&op{cmd: ofp.Add, rule: v.kept.rule})
		v.kept.used = true
	}
}

// settle does the accounts of what went.
func (x *txn) settle() {
	rules := make([]*Rule, 0, len(x.gone))
	for left := x.gone; len(left) > 0; {
		n := min(piece, len(left))
		x.lockPiece()
		for _, g := range left[:n] {
			if g.r.removed.Load() == x.v { // else it went before
				x.went(g.r, true)
				rules = append(rules, g.r)
			}
		}
		x.mu.Unlock()
		left = left[n:]
	}
	x.lockPiece()
	x.bury(rules, x.v)
	x.mu.Unlock()
}
