package client

import (
	"maps"
	"slices"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// Row is one row of a Snapshot.
type Row struct {
	id   ovsdb.UUID
	cols map[string]ovsdb.Datum
}

// UUID is the row's name.
func (r *Row) UUID() ovsdb.UUID { return r.id }

// Get returns a column; the empty Datum if it is not monitored or the schema
// lacks it.
func (r *Row) Get(column string) ovsdb.Datum { return r.cols[column] }

// Columns returns all monitored columns; the map must not be changed.
func (r *Row) Columns() map[string]ovsdb.Datum { return r.cols }

// Snapshot is the content of the monitored tables at one moment, after one
// transaction. It never changes.
type Snapshot struct {
	schema *ovsdb.Schema
	tables map[string]map[ovsdb.UUID]*Row
}

// Schema is the schema of the server that the content came from.
func (s *Snapshot) Schema() *ovsdb.Schema { return s.schema }

// Has reports whether the schema has the table, and the column unless that is
// empty. A server of another version may lack some.
func (s *Snapshot) Has(table, column string) bool {
	t := s.schema.Tables[table]
	return t != nil && (column == "" || t.Column(column) != nil)
}

// Len is the number of rows of a table.
func (s *Snapshot) Len(table string) int { return len(s.tables[table]) }

// Row returns a row, nil if there is none.
func (s *Snapshot) Row(table string, id ovsdb.UUID) *Row { return s.tables[table][id] }

// Rows returns all rows of a table in order of UUID.
func (s *Snapshot) Rows(table string) []*Row {
	rows := s.tables[table]
	out := make([]*Row, 0, len(rows))
	for _, id := range slices.SortedFunc(maps.Keys(rows), ovsdb.UUID.Compare) {
		out = append(out, rows[id])
	}
	return out
}

// Find returns a row whose column equals the value, nil if there is none.
func (s *Snapshot) Find(table, column string, value ovsdb.Datum) *Row {
	for _, r := range s.tables[table] {
		if r.Get(column).Equal(value) {
			return r
		}
	}
	return nil
}

// Named returns the row of that name, nil if there is none.
func (s *Snapshot) Named(table, name string) *Row {
	return s.Find(table, "name", ovsdb.Scalar(ovsdb.Str(name)))
}

// First returns the row of a table that has one row at most, such as
// Open_vSwitch; nil if it has none.
func (s *Snapshot) First(table string) *Row {
	for _, r := range s.tables[table] {
		return r
	}
	return nil
}
