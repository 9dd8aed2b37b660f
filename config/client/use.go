package client

import (
	"context"
	"encoding/json"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// Open makes a Replica for the life of one connection, and waits until it has
// its first content. Close it when done.
func Open(ctx context.Context, dial Dialer, o Options) (*Replica, error) {
	r := NewReplica(dial, o)
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer cancel()
		_ = r.Run(runCtx) // the error is what Wait returns
	}()
	if _, err := r.Wait(ctx, nil); err != nil {
		cancel()
		return nil, err
	}
	return r, nil
}

// Close ends the connection that is there now. A Replica with Reconnect makes
// another; end its Run instead.
func (r *Replica) Close() {
	if c := r.current(); c != nil {
		_ = c.Close()
	}
}

func (r *Replica) current() *Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conn
}

// Snapshot returns the newest content, nil if there was none yet. While
// disconnected it is the last known.
func (r *Replica) Snapshot() *Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// Changed receives a value after the content, or HasLock, has changed. Several
// changes may come as one. It is for one receiver; see Wait for others.
func (r *Replica) Changed() <-chan struct{} { return r.changed }

// Wait returns the newest content as soon as it is not old (a result of
// Snapshot or Wait). It fails when Run has ended or ctx is done.
func (r *Replica) Wait(ctx context.Context, old *Snapshot) (*Snapshot, error) {
	for {
		r.mu.Lock()
		now, news, finished := r.now, r.news, r.finished
		r.mu.Unlock()
		switch {
		case now != old:
			return now, nil
		case finished != nil:
			return nil, finished
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Connected reports whether there is a connection.
func (r *Replica) Connected() bool { return r.current() != nil }

// HasLock reports whether this connection holds Options.Lock; true if there is
// none to hold and a connection.
func (r *Replica) HasLock() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conn != nil && (r.hasLock || r.options.Lock == "")
}

// Begin starts a transaction; Commit sends it. Before the first content it
// fails with ErrDisconnected.
func (r *Replica) Begin() *Tx {
	s := r.Snapshot()
	if s == nil {
		x := NewTx(&ovsdb.Schema{Name: r.options.Database})
		x.err = ErrDisconnected
		return x
	}
	x := NewTx(s.schema)
	if r.options.Lock != "" {
		x.Assert(r.options.Lock)
	}
	return x
}

// Commit sends a transaction that Begin or NewTx started, and waits for the
// answer. An error that the database reports is an *OpError around an
// *ovsdb.Error. A connection that breaks meanwhile leaves open whether the
// transaction took place.
func (r *Replica) Commit(ctx context.Context, x *Tx) error {
	c := r.current()
	if c == nil {
		return ErrDisconnected
	}
	x.transact = func(ops []any) ([]json.RawMessage, error) {
		return c.Transact(ctx, r.options.Database, ops)
	}
	return x.send()
}
