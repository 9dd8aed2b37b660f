package vsctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// databaseName is the database that all commands are about.
const databaseName = "Open_vSwitch"

// Conn is a Database over the wire.
type Conn struct {
	conn   *jsonrpc.Conn
	schema *ovsdb.Schema

	mu       sync.Mutex
	data     Snapshot
	number   uint64
	changed  chan struct{} // closed at the next change
	monitors map[string][]string
	broken   error // an update that could not be understood
}

// ConnError is a failure to reach the database, or to keep in touch with it.
type ConnError struct {
	Address string
	Err     error
}

func (e *ConnError) Error() string {
	text := e.Err.Error()
	var errno unix.Errno
	switch {
	case errors.As(e.Err, &errno):
		text = strings.ToUpper(errno.Error()[:1]) + errno.Error()[1:]
	case errors.Is(e.Err, jsonrpc.ErrClosed):
		text = "End of file"
	}
	return fmt.Sprintf("%s: database connection failed (%s)", e.Address, text)
}

func (e *ConnError) Unwrap() error { return e.Err }

// Dial connects to an OVSDB server, at unix:PATH or tcp:HOST:PORT, and fetches the schema.
func Dial(ctx context.Context, address string) (*Conn, error) {
	network, where, _ := strings.Cut(address, ":")
	switch network {
	case "unix", "tcp":
	default:
		return nil, fmt.Errorf("%s: not of the form unix:PATH or tcp:HOST:PORT", address)
	}
	stream, err := new(net.Dialer).DialContext(ctx, network, where)
	if err != nil {
		return nil, &ConnError{address, err}
	}
	c := &Conn{data: make(Snapshot), changed: make(chan struct{})}
	c.conn = jsonrpc.NewConn(stream, jsonrpc.HandlerFuncs{Notify: c.notified})
	go func() { _ = c.conn.Serve(context.Background()) }() // its end shows in Done and in calls

	var schema json.RawMessage
	if err := c.conn.Call(ctx, "get_schema", []string{databaseName}, &schema); err != nil {
		c.Close()
		return nil, &ConnError{address, err}
	}
	if c.schema, err = ovsdb.ParseSchema(schema); err != nil {
		c.Close()
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return c, nil
}

// Close ends the connection.
func (c *Conn) Close() { _ = c.conn.Close() }

// Schema implements Database.
func (c *Conn) Schema() *ovsdb.Schema { return c.schema }

// Monitor implements Database.
func (c *Conn) Monitor(ctx context.Context, columns map[string][]string) error {
	requests := make(object, len(columns))
	for table, names := range columns {
		requests[table] = object{"columns": names}
	}
	var initial tableUpdates
	done := make(chan error, 1)
	// Go, not Call: the rows must be there before an update that follows the reply is handled.
	c.conn.Go("monitor", []any{databaseName, "vsctl", requests}, func(raw json.RawMessage, err error) {
		if err == nil {
			err = json.Unmarshal(raw, &initial)
		}
		if err == nil {
			err = c.apply(initial)
		}
		done <- err
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tableUpdates is RFC 7047 section 4.1.6's <table-updates>.
type tableUpdates map[string]map[string]struct {
	New map[string]json.RawMessage `json:"new"`
}

func (c *Conn) notified(_ *jsonrpc.Conn, method string, params json.RawMessage) {
	if method != "update" {
		return
	}
	var args []json.RawMessage
	var updates tableUpdates
	err := json.Unmarshal(params, &args)
	if err == nil && len(args) != 2 {
		err = fmt.Errorf("an update with %d parameters", len(args))
	}
	if err == nil {
		err = json.Unmarshal(args[1], &updates)
	}
	if err == nil {
		err = c.apply(updates)
	}
	if err != nil {
		c.mu.Lock()
		c.broken = fmt.Errorf("database: %w", err)
		c.mu.Unlock()
		c.Close()
	}
}

// apply replaces the rows that have changed.
func (c *Conn) apply(updates tableUpdates) error {
	parsed := make(Snapshot, len(updates))
	for name, rows := range updates {
		t := c.schema.Tables[name]
		if t == nil {
			return fmt.Errorf("an update of table %s, which is not in the schema", name)
		}
		parsed[name] = make(map[ovsdb.UUID]Row, len(rows))
		for key, update := range rows {
			id, err := ovsdb.ParseUUID(key)
			if err != nil {
				return err
			}
			if parsed[name][id], err = parseRow(t, update.New); err != nil {
				return fmt.Errorf("table %s record %s: %w", name, id, err)
			}
		}
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	for name, rows := range parsed {
		table := maps.Clone(c.data[name]) // a Snapshot may hold the old one
		if table == nil {
			table = make(map[ovsdb.UUID]Row)
		}
		for id, row := range rows {
			if row == nil {
				delete(table, id)
			} else {
				table[id] = row
			}
		}
		c.data[name] = table
	}
	c.number++
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

// parseRow reads a row; nil means that it is gone.
func parseRow(t *ovsdb.Table, columns map[string]json.RawMessage) (Row, error) {
	if columns == nil {
		return nil, nil
	}
	row := make(Row, len(columns))
	for name, raw := range columns {
		col := t.Column(name)
		if col == nil {
			return nil, fmt.Errorf("column %s is not in the schema", name)
		}
		v, err := ovsdb.DecodeJSON(raw)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
		if row[name], err = col.Type.Parse(v, nil); err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
	}
	return row, nil
}

// Snapshot implements Database.
func (c *Conn) Snapshot() (Snapshot, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.data), c.number
}

// Wait implements Database.
func (c *Conn) Wait(ctx context.Context, seen uint64) error {
	c.mu.Lock()
	number, changed := c.number, c.changed
	c.mu.Unlock()
	if number != seen {
		return nil
	}
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.conn.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.broken != nil {
			return c.broken
		}
		return &ConnError{"database", c.conn.Err()}
	}
}

// Transact implements Database.
func (c *Conn) Transact(ctx context.Context, ops []any) ([]json.RawMessage, error) {
	var replies []json.RawMessage
	err := c.conn.Call(ctx, "transact", append([]any{databaseName}, ops...), &replies)
	return replies, err
}
