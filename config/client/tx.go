package client

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// Columns are values of a row by column name.
type Columns map[string]ovsdb.Datum

// Tx is a transaction that is being put together. Its methods remember the
// first mistake (a name that the schema lacks, a value of the wrong type),
// which Ops and Commit return.
type Tx struct {
	schema   *ovsdb.Schema
	ops      []any
	inserts  map[ovsdb.UUID]int // row made by Insert -> its operation
	results  []json.RawMessage
	err      error
	transact func(ops []any) ([]json.RawMessage, error)
}

// NewTx starts a transaction for databases of the schema. Use Ops to get the
// operations; Replica.Begin gives one that can be sent.
func NewTx(schema *ovsdb.Schema) *Tx {
	return &Tx{schema: schema, inserts: make(map[ovsdb.UUID]int)}
}

// Len is the number of operations so far.
func (x *Tx) Len() int { return len(x.ops) }

// Ops returns the operations in generic JSON.
func (x *Tx) Ops() ([]any, error) { return x.ops, x.err }

func (x *Tx) fail(format string, args ...any) {
	if x.err == nil {
		x.err = fmt.Errorf(format, args...)
	}
}

func (x *Tx) add(op map[string]any) int {
	x.ops = append(x.ops, op)
	return len(x.ops) - 1
}

func (x *Tx) table(name string) *ovsdb.Table {
	t := x.schema.Tables[name]
	if t == nil {
		x.fail("database %s has no table %s", x.schema.Name, name)
	}
	return t
}

func (x *Tx) column(table, name string) *ovsdb.Column {
	t := x.table(table)
	if t == nil {
		return nil
	}
	c := t.Column(name)
	if c == nil {
		x.fail("table %s has no column %s", table, name)
	}
	return c
}

func (x *Tx) row(table string, cols Columns) map[string]any {
	row := make(map[string]any, len(cols))
	for name, d := range cols {
		c := x.column(table, name)
		if c == nil {
			continue
		}
		if err := c.Type.Check(d); err != nil {
			x.fail("table %s column %s: %w", table, name, err)
		}
		row[name] = x.json(&c.Type, d)
	}
	return row
}

// Insert adds a row and returns a UUID by which this transaction's other
// operations may refer to it; UUID gives the real one afterwards.
func (x *Tx) Insert(table string, cols Columns) ovsdb.UUID {
	id := ovsdb.NewUUID()
	x.table(table)
	i := x.add(nil)
	x.inserts[id] = i
	x.ops[i] = map[string]any{"op": "insert", "table": table, "uuid-name": rowName(id), "row": x.row(table, cols)}
	return id
}

// Update sets columns of a row.
func (x *Tx) Update(table string, id ovsdb.UUID, cols Columns) {
	x.add(map[string]any{"op": "update", "table": table, "where": x.where(id), "row": x.row(table, cols)})
}

// InsertInto adds elements to a set or pairs to a map. Pairs whose key is
// there already change nothing; see SetKeys.
func (x *Tx) InsertInto(table string, id ovsdb.UUID, column string, elements ovsdb.Datum) {
	if c := x.column(table, column); c != nil {
		x.mutate(table, id, []any{column, "insert", x.json(&c.Type, elements)})
	}
}

// DeleteFrom removes elements of a set, or pairs of a map by their keys.
func (x *Tx) DeleteFrom(table string, id ovsdb.UUID, column string, keys ...ovsdb.Atom) {
	if x.column(table, column) != nil {
		x.mutate(table, id, []any{column, "delete", x.set(ovsdb.NewSet(keys...))})
	}
}

// SetKeys sets pairs of a map, also those whose key is there.
func (x *Tx) SetKeys(table string, id ovsdb.UUID, column string, pairs ovsdb.Datum) {
	c := x.column(table, column)
	if c == nil {
		return
	}
	keys := make([]ovsdb.Atom, pairs.Len())
	for i := range keys {
		keys[i] = pairs.Key(i)
	}
	x.mutate(table, id,
		[]any{column, "delete", x.set(ovsdb.NewSet(keys...))},
		[]any{column, "insert", x.json(&c.Type, pairs)})
}

// Add adds n to an integer column.
func (x *Tx) Add(table string, id ovsdb.UUID, column string, n int64) {
	if x.column(table, column) != nil {
		x.mutate(table, id, []any{column, "+=", n})
	}
}

func (x *Tx) mutate(table string, id ovsdb.UUID, mutations ...any) {
	x.add(map[string]any{"op": "mutate", "table": table, "where": x.where(id), "mutations": mutations})
}

// Verify makes the transaction fail with "timed out" if the row is gone or a
// column has another value by now.
func (x *Tx) Verify(table string, id ovsdb.UUID, cols Columns) {
	names := make([]string, 0, len(cols))
	for name := range cols {
		names = append(names, name)
	}
	x.add(map[string]any{
		"op": "wait", "table": table, "where": x.where(id), "timeout": 0,
		"until": "==", "columns": names, "rows": []any{x.row(table, cols)},
	})
}

// Select reads columns of a row as they are at this point of the transaction.
// Row decodes the answer; index is what it wants.
func (x *Tx) Select(table string, id ovsdb.UUID, columns ...string) (index int) {
	for _, c := range columns {
		x.column(table, c)
	}
	return x.add(map[string]any{"op": "select", "table": table, "where": x.where(id), "columns": columns})
}

// Comment adds text to the database's log.
func (x *Tx) Comment(text string) { x.add(map[string]any{"op": "comment", "comment": text}) }

// Assert makes the transaction fail unless this connection holds the lock.
func (x *Tx) Assert(lock string) { x.add(map[string]any{"op": "assert", "lock": lock}) }

func (x *Tx) where(id ovsdb.UUID) []any {
	return []any{[]any{"_uuid", "==", x.atom(ovsdb.Ref(id))}}
}

// json is the wire form, with names for rows that this transaction inserts.
func (x *Tx) json(t *ovsdb.ColumnType, d ovsdb.Datum) any {
	if !t.IsMap() {
		return x.set(d)
	}
	pairs := make([]any, d.Len())
	for i := range pairs {
		pairs[i] = [2]any{x.atom(d.Key(i)), x.atom(d.Value(i))}
	}
	return [2]any{"map", pairs}
}

func (x *Tx) set(d ovsdb.Datum) any {
	if d.Len() == 1 {
		return x.atom(d.Key(0))
	}
	atoms := make([]any, d.Len())
	for i := range atoms {
		atoms[i] = x.atom(d.Key(i))
	}
	return [2]any{"set", atoms}
}

func (x *Tx) atom(a ovsdb.Atom) any {
	if a.Kind() == ovsdb.UUIDKind {
		if _, own := x.inserts[a.UUID()]; own {
			return [2]string{"named-uuid", rowName(a.UUID())}
		}
	}
	return a.JSON()
}

// rowName is a UUID as an <id>.
func rowName(id ovsdb.UUID) string { return "row" + strings.ReplaceAll(id.String(), "-", "_") }
