package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// monitorID names our only monitor on a connection.
const monitorID = "gvswitch"

// view is what a connection has brought so far. Only the goroutine that serves
// the connection touches it.
type view struct {
	schema  *ovsdb.Schema
	columns map[string][]string // asked for
	now     *Snapshot
	lastTxn string
}

// monitorMethods are the ways to follow a database, the best first; a server
// that lacks one answers "unknown method".
var monitorMethods = []string{"monitor_cond_since", "monitor_cond", "monitor"}

// monitor starts to follow the tables. accept is called on the connection's
// goroutine with the first content, so no update can be missed or come first.
func (v *view) monitor(ctx context.Context, c *Conn, accept func()) error {
	requests := make(map[string]any, len(v.columns))
	for table, columns := range v.columns {
		requests[table] = []any{map[string]any{"columns": columns}}
	}
	for _, method := range monitorMethods {
		params := []any{v.schema.Name, monitorID, requests}
		if method == "monitor_cond_since" {
			params = append(params, v.lastTxn)
		}
		done := make(chan error, 1)
		c.rpc.Go(method, params, func(raw json.RawMessage, err error) {
			if err == nil {
				err = v.start(method, raw)
			}
			if err == nil {
				accept()
			}
			done <- err
		})
		var err error
		select {
		case err = <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
		var refused *jsonrpc.Error
		if !errors.As(err, &refused) || refused.Tag() != "unknown method" {
			return err
		}
	}
	return fmt.Errorf("the server knows no way to monitor a database")
}

// start takes a monitor's reply.
func (v *view) start(method string, raw json.RawMessage) (err error) {
	defer func() {
		if err != nil {
			v.lastTxn = ovsdb.UUID{}.String() // what is there now is no base for updates
		}
	}()
	found := false
	if method == "monitor_cond_since" {
		var parts []json.RawMessage
		if err := json.Unmarshal(raw, &parts); err != nil || len(parts) != 3 {
			return fmt.Errorf("reply to monitor_cond_since: want three elements")
		}
		if err := errors.Join(json.Unmarshal(parts[0], &found), json.Unmarshal(parts[1], &v.lastTxn)); err != nil {
			return fmt.Errorf("reply to monitor_cond_since: %w", err)
		}
		raw = parts[2]
	}
	if !found || v.now == nil {
		v.now = &Snapshot{schema: v.schema, tables: make(map[string]map[ovsdb.UUID]*Row)}
	}
	return v.apply(raw)
}

// update takes a notification, and reports whether it was one of the monitor's.
func (v *view) update(method string, raw json.RawMessage) (bool, error) {
	at := 1
	switch method {
	case "update", "update2":
	case "update3":
		at = 2
	default:
		return false, nil
	}
	var params []json.RawMessage
	if err := json.Unmarshal(raw, &params); err != nil || len(params) != at+1 {
		return false, fmt.Errorf("%s: want %d params", method, at+1)
	}
	var id string
	if json.Unmarshal(params[0], &id) != nil || id != monitorID || v.now == nil {
		return false, nil
	}
	if method == "update3" {
		if err := json.Unmarshal(params[1], &v.lastTxn); err != nil {
			return false, fmt.Errorf("update3: %w", err)
		}
	}
	return true, v.apply(params[at])
}

// apply makes the next snapshot out of <table-updates> or <table-updates2>.
// Tables that do not change are shared with the one before.
func (v *view) apply(raw json.RawMessage) error {
	decoded, err := ovsdb.DecodeJSON(raw)
	if err != nil {
		return err
	}
	updates, ok := decoded.(map[string]any)
	if !ok {
		return fmt.Errorf("table updates: want an object")
	}
	next := &Snapshot{schema: v.schema, tables: maps.Clone(v.now.tables)}
	for name, rv := range updates {
		t := v.schema.Tables[name]
		rows, ok := rv.(map[string]any)
		if t == nil || !ok {
			return fmt.Errorf("update of table %s, which the schema lacks", name)
		}
		table := maps.Clone(next.tables[name])
		if table == nil {
			table = make(map[ovsdb.UUID]*Row, len(rows))
		}
		for idText, update := range rows {
			id, err := ovsdb.ParseUUID(idText)
			if err != nil {
				return fmt.Errorf("update of table %s: %w", name, err)
			}
			r, err := v.row(t, id, table[id], update)
			if err != nil {
				return fmt.Errorf("update of table %s row %s: %w", name, id, err)
			}
			if r == nil {
				delete(table, id)
			} else {
				table[id] = r
			}
		}
		next.tables[name] = table
	}
	v.now = next
	return nil
}

// row applies a <row-update> or <row-update2>; nil means that the row is gone.
func (v *view) row(t *ovsdb.Table, id ovsdb.UUID, old *Row, update any) (*Row, error) {
	u, ok := update.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want an object")
	}
	if diff, ok := u["modify"]; ok {
		return v.modified(t, old, diff)
	}
	for _, whole := range []string{"new", "initial", "insert"} {
		row, ok := u[whole]
		if !ok {
			continue
		}
		vals, err := t.ParseRow(row)
		if err != nil {
			return nil, err
		}
		r := &Row{id: id, cols: make(map[string]ovsdb.Datum, len(v.columns[t.Name]))}
		for _, name := range v.columns[t.Name] {
			r.cols[name] = t.Column(name).Type.Default()
		}
		for c, d := range vals {
			r.cols[c.Name] = d
		}
		return r, nil
	}
	return nil, nil // "delete", or "old" alone
}

func (v *view) modified(t *ovsdb.Table, old *Row, diff any) (*Row, error) {
	if old == nil {
		return nil, fmt.Errorf("modified, but not there")
	}
	vals, err := t.ParseDiff(diff)
	if err != nil {
		return nil, err
	}
	r := &Row{id: old.id, cols: maps.Clone(old.cols)}
	for c, d := range vals {
		r.cols[c.Name] = c.Type.Apply(old.cols[c.Name], d)
	}
	return r, nil
}
