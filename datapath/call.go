package datapath

import (
	"sync/atomic"
	"time"
)

// call is something that control code wants done on a poll thread, between bursts: a short look at what
// is the thread's own.
type call struct {
	f    func()
	ok   bool // f came to its end
	done atomic.Bool
}

// do has f done on the thread and returns when it was, false if it did not come to its end. A thread that has ended
// has nothing to be afraid of: then f is done here.
func (t *thread) do(f func()) bool {
	t.callMu.Lock()
	defer t.callMu.Unlock()
	c := &call{f: f}
	t.call.Store(c)
	t.wake()
	for k := 0; !c.done.Load(); k++ {
		select {
		case <-t.stopped:
			if t.call.CompareAndSwap(c, nil) {
				f()
				return true
			}
		default:
		}
		if k > 100 {
			time.Sleep(20 * time.Microsecond)
		}
	}
	return c.ok
}

// answer does what control code asked for.
func (t *thread) answer() {
	if c := t.call.Load(); c != nil && t.call.CompareAndSwap(c, nil) {
		defer c.done.Store(true) // whatever becomes of f
		c.f()
		c.ok = true
	}
}

// syncFlows returns when the thread has told the rules all that it counted before the call.
func (t *thread) syncFlows() {
	s := &t.fl.pass
	want := s.asked.Add(1)
	t.wake()
	for int32(s.served.Load()-want) < 0 {
		select {
		case <-t.stopped: // it has told everything at its end
			return
		default:
			time.Sleep(50 * time.Microsecond)
		}
	}
}
