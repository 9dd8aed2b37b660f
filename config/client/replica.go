package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// ErrDisconnected is returned by a transaction while there is no connection.
var ErrDisconnected = errors.New("not connected to the database")

// Options says what a Replica follows and how.
type Options struct {
	// Database is the database's name, "Open_vSwitch" if empty.
	Database string
	// Tables maps tables to the columns to follow: nil means all of them, an
	// empty list the rows' existence only. What the server's schema lacks is
	// left out; see Snapshot.Has.
	Tables map[string][]string
	// Lock is a lock to ask for (RFC 7047 section 4.1.8), none if empty. While
	// it is not held, transactions fail with "not owner".
	Lock string
	// Reconnect makes Run try for ever, with growing pauses.
	Reconnect bool
	// Probe is how long the server may be silent before it is asked for a sign
	// of life, and then how long that may take; 0 asks never.
	Probe time.Duration
	// Log gets a line when the connection comes and goes; nil for none.
	Log *slog.Logger
}

// Pauses between attempts to connect.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 8 * time.Second
)

// Replica is a copy of a database's tables.
type Replica struct {
	dial    Dialer
	options Options
	changed chan struct{}

	mu       sync.Mutex
	conn     *Conn // nil while disconnected
	now      *Snapshot
	news     chan struct{} // closed at the next snapshot or end
	hasLock  bool
	finished error // why Run ended
}

// NewReplica makes a Replica; Run makes it work.
func NewReplica(dial Dialer, o Options) *Replica {
	if o.Database == "" {
		o.Database = "Open_vSwitch"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Replica{dial: dial, options: o, changed: make(chan struct{}, 1), news: make(chan struct{})}
}

// Run connects and keeps the copy up to date. Without Reconnect it returns
// when the connection ends or cannot be made; else when ctx is done. Call it
// once.
func (r *Replica) Run(ctx context.Context) error {
	v := &view{lastTxn: ovsdb.UUID{}.String()}
	backoff := minBackoff
	for {
		started := time.Now()
		err := r.session(ctx, v)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if !r.options.Reconnect || ctx.Err() != nil {
			r.end(err)
			return err
		}
		if time.Since(started) > maxBackoff {
			backoff = minBackoff
		}
		r.options.Log.Warn("database connection lost, trying again", "error", err, "after", backoff)
		select {
		case <-ctx.Done():
			continue
		case <-time.After(backoff/2 + rand.N(backoff/2)): //nolint:gosec // spreads attempts, no secret
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

func (r *Replica) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		err = ErrDisconnected
	}
	r.finished = err
	close(r.news)
	r.news = make(chan struct{})
}

// session is one connection from beginning to end.
func (r *Replica) session(ctx context.Context, v *view) error {
	rw, err := r.dial(ctx)
	if err != nil {
		return err
	}
	s := &sessionHandler{r: r, v: v}
	c := newConn(rw, s)
	defer func() {
		_ = c.Close()
		<-c.served // nobody touches v any more
		r.setConn(nil)
	}()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if err := r.prepare(ctx, c, v); err != nil {
		return err
	}
	if r.options.Lock != "" {
		if err := r.lock(ctx, c); err != nil {
			return err
		}
	}
	if err := v.monitor(ctx, c, func() { r.setConn(c); r.publish(v.now) }); err != nil {
		return fmt.Errorf("monitor: %w", err)
	}
	r.options.Log.Info("connected to the database", "database", r.options.Database, "version", v.schema.Version)
	r.watch(c)
	if err := s.failure(); err != nil {
		return err
	}
	return fmt.Errorf("connection ended: %w", c.Err())
}

// prepare gets the schema and finds what of the wanted is there.
func (r *Replica) prepare(ctx context.Context, c *Conn, v *view) error {
	schema, err := c.Schema(ctx, r.options.Database)
	if err != nil {
		return fmt.Errorf("schema of %s: %w", r.options.Database, err)
	}
	if v.schema != nil && string(schema.JSON()) == string(v.schema.JSON()) {
		return nil
	}
	*v = view{schema: schema, columns: make(map[string][]string), lastTxn: ovsdb.UUID{}.String()}
	for name, columns := range r.options.Tables {
		t := schema.Tables[name]
		if t == nil {
			continue
		}
		v.columns[name] = []string{}
		if columns == nil {
			for _, col := range t.Columns[2:] { // all but _uuid and _version
				v.columns[name] = append(v.columns[name], col.Name)
			}
			continue
		}
		for _, col := range columns {
			if t.Column(col) != nil {
				v.columns[name] = append(v.columns[name], col)
			}
		}
	}
	return nil
}

func (r *Replica) lock(ctx context.Context, c *Conn) error {
	done := make(chan error, 1)
	c.rpc.Go("lock", []string{r.options.Lock}, func(raw json.RawMessage, err error) {
		var reply struct{ Locked bool }
		if err == nil {
			err = json.Unmarshal(raw, &reply)
		}
		r.setLock(reply.Locked)
		done <- err
	})
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("lock %s: %w", r.options.Lock, err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watch waits for the end of the connection, and probes it meanwhile.
func (r *Replica) watch(c *Conn) {
	if r.options.Probe <= 0 {
		<-c.Done()
		return
	}
	for {
		select {
		case <-c.Done():
			return
		case <-time.After(r.options.Probe):
		}
		ctx, cancel := context.WithTimeout(context.Background(), r.options.Probe)
		err := c.rpc.Call(ctx, "echo", []string{"probe"}, nil)
		cancel()
		if err != nil {
			_ = c.Close()
		}
	}
}

func (r *Replica) setConn(c *Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conn = c
	if c == nil {
		r.hasLock = false
	}
}

func (r *Replica) setLock(has bool) {
	r.mu.Lock()
	r.hasLock = has
	r.mu.Unlock()
	r.signal()
}

func (r *Replica) publish(s *Snapshot) {
	r.mu.Lock()
	r.now = s
	close(r.news)
	r.news = make(chan struct{})
	r.mu.Unlock()
	r.signal()
}

func (r *Replica) signal() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// sessionHandler takes the notifications of one connection.
type sessionHandler struct {
	r *Replica
	v *view

	mu  sync.Mutex
	err error
}

// HandleRequest implements jsonrpc.Handler. Servers ask for nothing but echo,
// which the connection answers.
func (s *sessionHandler) HandleRequest(*jsonrpc.Conn, string, json.RawMessage) (any, error) {
	return nil, jsonrpc.Errorf("unknown method")
}

// HandleNotify implements jsonrpc.Handler. An update that does not fit means
// that the copy is wrong: the connection is given up, the next starts anew.
func (s *sessionHandler) HandleNotify(c *jsonrpc.Conn, method string, params json.RawMessage) {
	switch method {
	case "locked", "stolen":
		s.r.setLock(method == "locked")
		return
	}
	ours, err := s.v.update(method, params)
	if err != nil {
		s.mu.Lock()
		s.err = err
		s.mu.Unlock()
		s.v.lastTxn = ovsdb.UUID{}.String()
		_ = c.Close()
		return
	}
	if ours {
		s.r.publish(s.v.now)
	}
}

func (s *sessionHandler) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
