package server

import (
	"slices"
	"time"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// pending is a transaction that has not been answered. One that waits blocks
// nobody else.
type pending struct {
	session *session
	request *jsonrpc.Request
	db      *database
	ops     []any
	start   time.Time
	queued  bool        // it has had to wait
	timer   *time.Timer // runs out with the wait, nil if that has no end
	done    bool
}

func (ss *session) transact(r *jsonrpc.Request, params []any) (any, error) {
	d, err := ss.database(r, params)
	if err != nil {
		return nil, err
	}
	p := &pending{session: ss, request: r, db: d, ops: params[1:], start: time.Now()}
	p.try(0)
	d.runWaiting()
	return later{}, nil
}

func (p *pending) key() string { return string(p.request.ID) }

// try executes the transaction and answers it, unless it has to wait.
func (p *pending) try(elapsed time.Duration) {
	out := p.db.db.Execute(p.ops, ovsdb.Env{
		Elapsed:  elapsed,
		HasLock:  p.session.holds,
		Reserved: p.db.reserved,
		Commit:   p.db.commit,
	})
	if out.Blocked {
		p.wait(out.Timeout)
		return
	}
	p.drop()
	p.session.server.notify(p.db, out.Changes)
	if out.Results == nil {
		out.Results = []any{}
	}
	_ = p.request.Reply(out.Results)
}

func (p *pending) wait(timeout time.Duration) {
	if !p.queued {
		p.queued = true
		p.session.pending[p.key()] = p
		p.db.waiting = append(p.db.waiting, p)
	}
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	if timeout >= 0 {
		p.timer = time.AfterFunc(time.Until(p.start.Add(timeout)), p.expire)
	}
}

// expire tries once more, so late that the wait fails.
func (p *pending) expire() {
	s := p.session.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.done {
		p.try(time.Since(p.start))
		p.db.runWaiting()
	}
}

// drop takes the transaction off all lists; it stays unanswered.
func (p *pending) drop() {
	p.done = true
	if !p.queued {
		return
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	delete(p.session.pending, p.key())
	if i := slices.Index(p.db.waiting, p); i >= 0 {
		p.db.waiting = slices.Delete(p.db.waiting, i, i+1)
	}
}

// runWaiting tries the waiting transactions again, in order, until a round
// changes nothing.
func (d *database) runWaiting() {
	for d.changed {
		d.changed = false
		for _, p := range slices.Clone(d.waiting) {
			if !p.done {
				p.try(time.Since(p.start))
			}
		}
	}
}
