package vsctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/config/client"
	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// databaseName is the database that all commands are about.
const databaseName = "Open_vSwitch"

// Conn is a Database over the wire. Which columns to follow depends on the schema, so it has a connection that fetches the schema and
// carries the transactions, and makes another one, for the replica, when these are known.
type Conn struct {
	address string
	dial    client.Dialer
	conn    *client.Conn
	schema  *ovsdb.Schema
	replica *client.Replica
	tables  []string

	seen   *client.Snapshot // what number stands for
	number uint64
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
		text = errno.Error()
		text = strings.ToUpper(text[:1]) + text[1:] // as strerror(3) has it
	case errors.Is(e.Err, jsonrpc.ErrClosed), errors.Is(e.Err, io.EOF):
		text = "End of file"
	}
	return fmt.Sprintf("%s: database connection failed (%s)", e.Address, text)
}

func (e *ConnError) Unwrap() error { return e.Err }

// Dial connects to an OVSDB server, at unix:PATH or tcp:HOST:PORT, and fetches the schema. What goes wrong with the connection, now or
// later, is a *ConnError.
func Dial(ctx context.Context, address string) (*Conn, error) {
	dial, err := client.Address(address)
	if err != nil {
		return nil, err
	}
	stream, err := dial(ctx)
	if err != nil {
		return nil, &ConnError{address, err}
	}
	c := &Conn{address: address, dial: dial, conn: client.NewConn(stream)}
	if c.schema, err = c.conn.Schema(ctx, databaseName); err != nil {
		c.Close()
		return nil, c.failure(ctx, err)
	}
	return c, nil
}

// failure tells a broken connection from other errors.
func (c *Conn) failure(ctx context.Context, err error) error {
	var refused *jsonrpc.Error
	var op *client.OpError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &refused), errors.As(err, &op):
		return fmt.Errorf("%s: %w", c.address, err)
	default:
		return &ConnError{c.address, err}
	}
}

// Close ends the connections.
func (c *Conn) Close() {
	_ = c.conn.Close()
	if c.replica != nil {
		c.replica.Close()
	}
}

// Schema implements Database.
func (c *Conn) Schema() *ovsdb.Schema { return c.schema }

// Monitor implements Database.
func (c *Conn) Monitor(ctx context.Context, columns map[string][]string) error {
	replica, err := client.Open(ctx, c.dial, client.Options{Database: databaseName, Tables: columns})
	if err != nil {
		return c.failure(ctx, err)
	}
	c.replica = replica
	for table := range columns {
		c.tables = append(c.tables, table)
	}
	return nil
}

// Snapshot implements Database.
func (c *Conn) Snapshot() (Snapshot, uint64) {
	if now := c.replica.Snapshot(); now != c.seen {
		c.seen = now
		c.number++
	}
	data := make(Snapshot, len(c.tables))
	for _, table := range c.tables {
		rows := make(map[ovsdb.UUID]Row, c.seen.Len(table))
		for _, row := range c.seen.Rows(table) {
			rows[row.UUID()] = row.Columns()
		}
		data[table] = rows
	}
	return data, c.number
}

// Wait implements Database.
func (c *Conn) Wait(ctx context.Context, number uint64) error {
	if number != c.number {
		return nil
	}
	_, err := c.replica.Wait(ctx, c.seen)
	return c.failure(ctx, err)
}

// Transact implements Database.
func (c *Conn) Transact(ctx context.Context, ops []any) ([]json.RawMessage, error) {
	results, err := c.conn.Transact(ctx, databaseName, ops)
	var op *client.OpError
	if errors.As(err, &op) {
		return results, nil // the caller finds it among the results
	}
	return results, c.failure(ctx, err)
}
