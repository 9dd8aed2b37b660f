package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/config/schema"
	"github.com/gvswitch/gvswitch/config/server"
	"github.com/gvswitch/gvswitch/config/store"
	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// Names of the embedded database's file in the state directory and of its socket in the run directory, as Open vSwitch's tools expect them.
const (
	databaseFile   = "conf.db"
	databaseSocket = "db.sock"
)

// embedded is the database that gvswitchd serves itself.
type embedded struct {
	store  *store.Store
	server *server.Server
	socket string
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// startEmbedded opens the file in the state directory and serves it on a socket in the run directory. A damaged file is an error and stays
// as it is.
func startEmbedded(stateDir, runDir string, log *slog.Logger) (*embedded, error) {
	if err := os.MkdirAll(stateDir, 0o755); err != nil {
		return nil, explainPermission(fmt.Errorf("state directory: %w", err))
	}
	st, err := store.Open(filepath.Join(stateDir, databaseFile), schema.OpenVSwitch())
	if err != nil {
		return nil, explainPermission(err)
	}
	for _, what := range st.Lost() {
		log.Warn("not in this version's schema and left out", "what", what)
	}
	e := &embedded{store: st, server: server.New(), socket: filepath.Join(runDir, databaseSocket)}
	l, err := e.prepare()
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	e.done.Go(func() {
		if err := e.server.Serve(ctx, l); err != nil {
			log.Error("database server ended", "error", err)
		}
	})
	return e, nil
}

// prepare gives the database to the server and makes the socket.
func (e *embedded) prepare() (net.Listener, error) {
	if err := addRoot(e.store); err != nil {
		return nil, err
	}
	if err := e.server.Add(e.store.DB(), e.store.Commit); err != nil {
		return nil, err
	}
	l, err := jsonrpc.ListenUnix(e.socket, 0o600, -1)
	if err != nil {
		return nil, fmt.Errorf("database socket: %w", err)
	}
	return l, nil
}

// addRoot makes the one Open_vSwitch row if it is missing.
func addRoot(s *store.Store) error {
	db := s.DB()
	if len(db.Rows(db.Schema().Tables["Open_vSwitch"])) > 0 {
		return nil
	}
	out := db.Execute([]any{map[string]any{
		"op": "insert", "table": "Open_vSwitch", "row": map[string]any{"db_version": db.Schema().Version},
	}}, ovsdb.Env{Commit: s.Commit})
	if out.Failed() {
		return fmt.Errorf("database: the Open_vSwitch row could not be made: %v", out.Results)
	}
	return nil
}

// Close ends all connections and gives up the file.
func (e *embedded) Close() error {
	e.cancel()
	e.server.Close()
	e.done.Wait()
	return e.store.Close()
}

// explainPermission says what to do about a missing permission.
func explainPermission(err error) error {
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		return fmt.Errorf("%w (gvswitchd runs as user %d; run it as root, or give it directories of its own with --run-dir and --state-dir)", err, os.Geteuid())
	}
	return err
}
