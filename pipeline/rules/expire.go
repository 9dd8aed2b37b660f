package rules

import "container/heap"

// timer is when a rule is to be looked at. That it was used since is found out then.
type timer struct {
	rule *Rule
	due  int64 // milliseconds
	i    int   // in timers
}

// timers are a heap by due.
type timers []*timer

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].due < t[j].due }
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].i, t[j].i = i, j
}

// Push is for heap.
func (t *timers) Push(x any) {
	x.(*timer).i = len(*t)
	*t = append(*t, x.(*timer))
}

// Pop is for heap.
func (t *timers) Pop() any {
	n := len(*t) - 1
	x := (*t)[n]
	(*t)[n] = nil
	*t = (*t)[:n]
	return x
}

func (t *timers) add(r *Rule) {
	due, _ := r.deadline()
	r.timer = &timer{rule: r, due: due}
	heap.Push(t, r.timer)
}

func (t *timers) remove(r *Rule) {
	heap.Remove(t, r.timer.i)
	r.timer = nil
}

// deadline is when the rule's time is up, and whether it is for want of packets.
func (r *Rule) deadline() (at int64, idle bool) {
	at = never >> 1
	m := r.modified.Load()
	if r.Hard != 0 {
		at = m + int64(r.Hard)*1000
	}
	if r.Idle != 0 {
		if i := max(m, r.used.Load()) + int64(r.Idle)*1000; i < at {
			return i, true
		}
	}
	return at, false
}

// Expires tells whether Expire would now remove a rule, as far as it has been told of packets.
func (t *Tables) Expires(now int64) bool {
	for {
		t.lockPiece()
		found, more := t.expires(now)
		t.mu.Unlock()
		if !more {
			return found
		}
	}
}

// expires looks at some rules. Preconditions: mu.
func (t *Tables) expires(now int64) (found, more bool) {
	for range piece {
		if len(t.timers) == 0 || t.timers[0].due > now {
			return false, false
		}
		at, _ := t.timers[0].rule.deadline()
		if at <= now {
			return true, false
		}
		t.timers[0].due = at
		heap.Fix(&t.timers, 0)
	}
	return false, true
}

// Expire removes the rules whose idle or hard timeout has passed, each few of them in a version of their own,
// and takes out of memory what went a while ago. Call it a few times a second from
// a control goroutine; what it holds no longer than a small change.
func (t *Tables) Expire(now int64) (ch Changed) {
	ch.Version = t.Version()
	for more := true; more; {
		t.lockPiece()
		x := txn{Tables: t, o: Options{Now: now}, v: t.Version() + 1}
		more = x.expire(now)
		x.finish()
		t.mu.Unlock()
		ch.merge(x.ch)
	}
	t.unlearn(&ch, Options{Now: now})
	t.reclaim()
	return ch
}

// expire has some rules go, and tells whether there may be more. Preconditions: mu.
func (x *txn) expire(now int64) bool {
	for range piece {
		if len(x.timers) == 0 || x.timers[0].due > now {
			return false
		}
		tm := x.timers[0]
		r := tm.rule
		at, idle := r.deadline()
		switch {
		case r.removed.Load() < x.v: // it went already
			x.timers.remove(r)
			continue
		case r.added >= x.v: // it is not there yet
			at = max(at, now+50)
		case at <= now:
			x.timers.remove(r)
			x.kill(r)
			x.ch.Removed++
			if idle {
				x.table(r.Table).idle.Add(1)
			} else {
				x.table(r.Table).hard.Add(1)
			}
			continue
		}
		tm.due = at
		heap.Fix(&x.timers, 0)
	}
	return true
}
