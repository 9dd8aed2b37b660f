package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// Conn is one connection to a server.
type Conn struct {
	rpc    *jsonrpc.Conn
	served chan struct{} // closed when nothing is handled any more
}

// Dial connects to an address as Address takes it.
func Dial(ctx context.Context, address string) (*Conn, error) {
	dial, err := Address(address)
	if err != nil {
		return nil, err
	}
	rw, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	return NewConn(rw), nil
}

// NewConn speaks over a stream, which it takes over.
func NewConn(rw io.ReadWriteCloser) *Conn { return newConn(rw, nil) }

func newConn(rw io.ReadWriteCloser, h jsonrpc.Handler) *Conn {
	c := &Conn{rpc: jsonrpc.NewConn(rw, h), served: make(chan struct{})}
	go func() {
		defer close(c.served)
		_ = c.rpc.Serve(context.Background()) // the reason is in c.rpc.Err
	}()
	return c
}

// Close ends the connection.
func (c *Conn) Close() error { return c.rpc.Close() }

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.rpc.Done() }

// Err says why the connection ended, nil while it lives.
func (c *Conn) Err() error { return c.rpc.Err() }

// Call makes any request; an error that the server reports is a
// *jsonrpc.Error.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	return c.rpc.Call(ctx, method, params, result)
}

// Databases lists the databases.
func (c *Conn) Databases(ctx context.Context) ([]string, error) {
	var names []string
	err := c.rpc.Call(ctx, "list_dbs", []any{}, &names)
	return names, err
}

// Schema gets a database's schema.
func (c *Conn) Schema(ctx context.Context, database string) (*ovsdb.Schema, error) {
	var raw json.RawMessage
	if err := c.rpc.Call(ctx, "get_schema", []any{database}, &raw); err != nil {
		return nil, err
	}
	return ovsdb.ParseSchema(raw)
}

// Transact sends operations as they are, in generic JSON, and returns their
// results. If an operation or the commit failed, the error is an *OpError; the
// results are returned with it. See Tx for building operations.
func (c *Conn) Transact(ctx context.Context, database string, ops []any) ([]json.RawMessage, error) {
	var results []json.RawMessage
	params := append([]any{database}, ops...)
	if err := c.rpc.Call(ctx, "transact", params, &results); err != nil {
		return nil, err
	}
	for i, raw := range results {
		var e struct{ Error, Details, Syntax string }
		if json.Unmarshal(raw, &e) != nil || e.Error == "" {
			continue
		}
		oe := &OpError{Index: i, Err: &ovsdb.Error{Tag: e.Error, Details: e.Details, Syntax: e.Syntax}}
		if i < len(ops) {
			oe.Op = ops[i]
		}
		return results, oe
	}
	if len(results) < len(ops) {
		return results, fmt.Errorf("the server gave %d results for %d operations", len(results), len(ops))
	}
	return results, nil
}

// OpError says why a transaction did not take place.
type OpError struct {
	Index int // of the operation; the number of operations if the commit failed
	Op    any // the operation, nil if the commit failed
	Err   *ovsdb.Error
}

// Error names the operation and its table.
func (e *OpError) Error() string {
	op, ok := e.Op.(map[string]any)
	if !ok {
		return e.Err.Error()
	}
	if table, ok := op["table"]; ok {
		return fmt.Sprintf("%v in table %v: %v", op["op"], table, e.Err)
	}
	return fmt.Sprintf("%v: %v", op["op"], e.Err)
}

// Unwrap gives the *ovsdb.Error.
func (e *OpError) Unwrap() error { return e.Err }
