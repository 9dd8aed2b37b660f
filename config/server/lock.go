package server

import (
	"slices"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// lock is a named lock (RFC 7047 section 4.1.8): the first session owns it,
// the others wait in order.
type lock struct {
	name     string
	sessions []*session
}

func (ss *session) holds(name string) bool {
	l := ss.locks[name]
	return l != nil && l.sessions[0] == ss
}

func (ss *session) lock(r *jsonrpc.Request, params []any) (any, error) {
	return ss.acquire(r, params, func(l *lock) { l.sessions = append(l.sessions, ss) })
}

// steal takes the lock at once; the owner is told and waits for it again.
func (ss *session) steal(r *jsonrpc.Request, params []any) (any, error) {
	return ss.acquire(r, params, func(l *lock) {
		if len(l.sessions) > 0 {
			_ = l.sessions[0].conn.Notify("stolen", []string{l.name})
		}
		l.sessions = slices.Insert(l.sessions, 0, ss)
	})
}

func lockName(r *jsonrpc.Request, params []any) (string, error) {
	if len(params) == 1 {
		if name, ok := params[0].(string); ok && ovsdb.IsID(name) {
			return name, nil
		}
	}
	return "", syntaxError(params, "%s request params must be <id>", r.Method)
}

func (ss *session) acquire(r *jsonrpc.Request, params []any, enqueue func(*lock)) (any, error) {
	name, err := lockName(r, params)
	if err != nil {
		return nil, err
	}
	if ss.locks[name] != nil {
		return nil, syntaxError(params, "must issue \"unlock\" before new \"%s\"", r.Method)
	}
	l := ss.server.locks[name]
	if l == nil {
		l = &lock{name: name}
		ss.server.locks[name] = l
	}
	enqueue(l)
	ss.locks[name] = l
	return map[string]bool{"locked": l.sessions[0] == ss}, nil
}

func (ss *session) unlock(r *jsonrpc.Request, params []any) (any, error) {
	name, err := lockName(r, params)
	if err != nil {
		return nil, err
	}
	l := ss.locks[name]
	if l == nil {
		return nil, syntaxError(params, "unlock: \"unlock\" without \"lock\" or \"steal\"")
	}
	ss.release(l)
	return struct{}{}, nil
}

// release takes the session off the lock; the next owner is told.
func (ss *session) release(l *lock) {
	owned := l.sessions[0] == ss
	delete(ss.locks, l.name)
	if i := slices.Index(l.sessions, ss); i >= 0 {
		l.sessions = slices.Delete(l.sessions, i, i+1)
	}
	switch {
	case len(l.sessions) == 0:
		delete(ss.server.locks, l.name)
	case owned:
		_ = l.sessions[0].conn.Notify("locked", []string{l.name})
	}
}
