package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/config/schema"
	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// CommitFunc makes a transaction durable; see ovsdb.Env.Commit. It runs with
// the server locked, so it must not call the server.
type CommitFunc func(changes []ovsdb.Change, comment string) error

// Server serves databases to any number of connections.
type Server struct {
	id ovsdb.UUID // of this run (get_server_id)

	mu       sync.Mutex
	dbs      map[string]*database
	locks    map[string]*lock
	sessions map[*session]struct{}
	closed   bool
	wg       sync.WaitGroup // connections
}

// database is a DB and who waits for it.
type database struct {
	db       *ovsdb.DB
	commit   CommitFunc
	reserved bool
	monitors []*monitor
	waiting  []*pending
	changed  bool // since runWaiting looked
}

// New makes a server that has the database _Server only.
func New() *Server {
	s := &Server{
		id:       ovsdb.NewUUID(),
		dbs:      make(map[string]*database),
		locks:    make(map[string]*lock),
		sessions: make(map[*session]struct{}),
	}
	own := &database{db: ovsdb.NewDB(schema.Server()), reserved: true}
	s.dbs[schema.Server().Name] = own
	s.announce(own.db.Schema())
	return s
}

// Add serves db, which belongs to the server from now on. A nil commit keeps
// nothing.
func (s *Server) Add(db *ovsdb.DB, commit CommitFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := db.Schema().Name
	if s.dbs[name] != nil {
		return fmt.Errorf("database %s is served already", name)
	}
	s.dbs[name] = &database{db: db, commit: commit}
	s.announce(db.Schema())
	return nil
}

// announce adds a database's row to _Server (ovsdb-server(5)).
func (s *Server) announce(sch *ovsdb.Schema) {
	own := s.dbs[schema.Server().Name]
	out := own.db.Execute([]any{map[string]any{
		"op": "insert", "table": "Database",
		"row": map[string]any{
			"name": sch.Name, "model": "standalone", "schema": string(sch.JSON()),
			"connected": true, "leader": true,
		},
	}}, ovsdb.Env{})
	s.notify(own, out.Changes)
}

// Inspect calls f with a database that no transaction changes meanwhile; f
// must not keep what it is shown, except rows. It reports whether the database
// exists.
func (s *Server) Inspect(name string, f func(*ovsdb.DB)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.dbs[name]
	if d != nil {
		f(d.db)
	}
	return d != nil
}

// Serve accepts connections until ctx is done (it returns nil) or the listener
// fails. It closes the listener and, when ctx is done, all connections.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	defer l.Close()
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			go func() { _ = s.ServeConn(ctx, c) }()
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		default:
			// Too many open files, or a client that went away: the next may do.
			if !sleep(ctx, acceptPause) {
				return nil
			}
		}
	}
}

// ServeConn serves one connection, which it takes over, until it ends.
func (s *Server) ServeConn(ctx context.Context, rw io.ReadWriteCloser) error {
	ss := &session{
		server:   s,
		monitors: make(map[string]*monitor),
		pending:  make(map[string]*pending),
		locks:    make(map[string]*lock),
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		_ = rw.Close()
		return net.ErrClosed
	}
	s.wg.Add(1)
	defer s.wg.Done()
	ss.conn = jsonrpc.NewConn(rw, ss)
	s.sessions[ss] = struct{}{}
	s.mu.Unlock()

	err := ss.conn.Serve(ctx)

	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, ss)
	ss.end()
	return err
}

// Close ends all connections and waits for them.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	open := slices.Collect(maps.Keys(s.sessions))
	s.mu.Unlock()
	for _, ss := range open {
		_ = ss.conn.Close()
	}
	s.wg.Wait()
}

func (s *Server) names() []string { return slices.Sorted(maps.Keys(s.dbs)) }
