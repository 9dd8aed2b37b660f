package vsctl

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// row is a row as the commands of one run see it: what the database has, and over it what they wrote.
type row struct {
	table   *ovsdb.Table
	id      ovsdb.UUID
	old     Row // nil if inserted in this run
	written Row // columns written in this run
	deleted bool
	purge   bool // deleted by name, not by the loss of the last reference
	keepID  bool // inserted with a UUID that the user chose

	partial  map[string]*partial // columns of which only elements were changed
	verified map[string]bool     // columns whose old value the change depends on
	order    int                 // of insertion
}

// partial is a change of single elements of a column, which the database does itself, so that it cannot undo what others do there.
type partial struct {
	remove ovsdb.Datum // keys
	insert ovsdb.Datum
}

// run is one attempt to execute commands on a snapshot.
type run struct {
	options *Options
	schema  *ovsdb.Schema
	base    Snapshot
	touched map[string]map[ovsdb.UUID]*row
	names   *symbols
	ovs     *row // the Open_vSwitch table's row
	fresh   bool // the database was empty, so that row is new
	init    bool // the row is wanted even if nothing else is
	cache   *bridgeCache

	inserted  int
	newIfaces []*row // interfaces that add-br, add-port and the like made

	out      *output // of the command that runs
	tryAgain bool    // wait-until is not satisfied
	exit     int     // br-exists wants this status
}

// output is what one command says. value, if any, replaces text when JSON is wanted.
type output struct {
	text  bytes.Buffer
	table *table
	value any
	// created is the row whose UUID is the output, known only after the commit.
	created *row
}

func newRun(o *Options, schema *ovsdb.Schema, base Snapshot) (*run, error) {
	r := &run{options: o, schema: schema, base: base, touched: make(map[string]map[ovsdb.UUID]*row), names: newSymbols()}
	t := schema.Tables["Open_vSwitch"]
	if t == nil {
		return nil, fmt.Errorf("database %s lacks the table Open_vSwitch", schema.Name)
	}
	if rows := r.rows(t); len(rows) > 0 {
		r.ovs = rows[0]
	} else {
		r.ovs = r.insert(t, nil)
		r.fresh = true
	}
	return r, nil
}

func (r *run) printf(format string, args ...any) { fmt.Fprintf(&r.out.text, format, args...) }

// row returns the row with that UUID, or nil.
func (r *run) row(t *ovsdb.Table, id ovsdb.UUID) *row {
	if x := r.touched[t.Name][id]; x != nil {
		if x.deleted {
			return nil
		}
		return x
	}
	old, ok := r.base[t.Name][id]
	if !ok {
		return nil
	}
	return r.touch(&row{table: t, id: id, old: old})
}

func (r *run) touch(x *row) *row {
	m := r.touched[x.table.Name]
	if m == nil {
		m = make(map[ovsdb.UUID]*row)
		r.touched[x.table.Name] = m
	}
	m[x.id] = x
	return x
}

// rows returns all rows of a table, by name if they have names, else by UUID; rows inserted in this run come last.
func (r *run) rows(t *ovsdb.Table) []*row {
	var rows []*row
	for id := range r.base[t.Name] {
		if x := r.row(t, id); x != nil {
			rows = append(rows, x)
		}
	}
	for _, x := range r.touched[t.Name] {
		if x.old == nil && !x.deleted {
			rows = append(rows, x)
		}
	}
	name := t.Column("name")
	slices.SortFunc(rows, func(a, b *row) int {
		if a.order != b.order {
			return a.order - b.order
		}
		if name != nil {
			if c := strings.Compare(r.get(a, name).Str(), r.get(b, name).Str()); c != 0 {
				return c
			}
		}
		return a.id.Compare(b.id)
	})
	return rows
}

// get returns a column's value as the commands have left it.
func (r *run) get(x *row, c *ovsdb.Column) ovsdb.Datum {
	if d, ok := x.written[c.Name]; ok {
		return d
	}
	if d, ok := x.old[c.Name]; ok {
		return d
	}
	return c.Type.Default()
}

// str returns the text of a string column.
func (r *run) str(x *row, column string) string { return r.value(x, column).Str() }

// value is get by name. A column that the schema lacks is empty.
func (r *run) value(x *row, column string) ovsdb.Datum {
	c := x.table.Column(column)
	if c == nil {
		return ovsdb.Datum{}
	}
	return r.get(x, c)
}

// refs returns the rows that a column of references names.
func (r *run) refs(x *row, column string) []*row {
	c := x.table.Column(column)
	if c == nil {
		return nil
	}
	t := r.schema.Tables[c.Type.Key.RefTable]
	if t == nil {
		return nil
	}
	var rows []*row
	for _, id := range r.get(x, c).UUIDs() {
		if y := r.row(t, id); y != nil {
			rows = append(rows, y)
		}
	}
	return rows
}

// insert adds a row. A nil id is chosen by the database; one that is not nil is a UUID by which other rows of this run refer to it.
func (r *run) insert(t *ovsdb.Table, id *ovsdb.UUID) *row {
	r.inserted++
	x := &row{table: t, order: r.inserted, written: make(Row)}
	if id != nil {
		x.id = *id
	} else {
		x.id = ovsdb.NewUUID()
	}
	return r.touch(x)
}

// remove takes a row away. The database removes it for good only if the table is a root; other rows go when nothing refers to them.
func (r *run) remove(x *row) { x.deleted = true }

// verify makes the change depend on the column still having the value that it has in the snapshot.
func (r *run) verify(x *row, c *ovsdb.Column) {
	if _, written := x.written[c.Name]; x.old == nil || written {
		return
	}
	if x.verified == nil {
		x.verified = make(map[string]bool)
	}
	x.verified[c.Name] = true
}

// verifyName is verify by name.
func (r *run) verifyName(x *row, column string) {
	if c := x.table.Column(column); c != nil {
		r.verify(x, c)
	}
}

// set writes a whole column.
func (r *run) set(x *row, c *ovsdb.Column, d ovsdb.Datum) {
	if x.written == nil {
		x.written = make(Row)
	}
	x.written[c.Name] = d
	delete(x.partial, c.Name)
}

// setName is set by name; a column that the schema lacks is left out.
func (r *run) setName(x *row, column string, d ovsdb.Datum) {
	if c := x.table.Column(column); c != nil {
		r.set(x, c, d)
	}
}

// change removes the elements with the keys of remove from a column, then adds those of insert.
func (r *run) change(x *row, column string, remove, insert ovsdb.Datum) {
	c := x.table.Column(column)
	keys := ovsdb.ColumnType{Key: c.Type.Key, Max: ovsdb.Unlimited}
	now := union(&c.Type, insert, subtract(&c.Type, r.get(x, c), &keys, remove))
	_, whole := x.written[c.Name]
	p := x.partial[c.Name]
	if x.old == nil || (whole && p == nil) {
		r.set(x, c, now)
		return
	}
	if p == nil {
		p = &partial{}
	}
	removed := union(&keys, p.remove, remove)
	inserted := union(&c.Type, insert, subtract(&c.Type, p.insert, &keys, remove))
	r.set(x, c, now)
	if x.partial == nil {
		x.partial = make(map[string]*partial)
	}
	x.partial[c.Name] = &partial{remove: removed, insert: inserted}
}

// addRef adds a reference to y to a column of x.
func (r *run) addRef(x *row, column string, y *row) {
	r.change(x, column, ovsdb.Datum{}, ovsdb.UUIDSet(y.id))
}

// dropRef removes a reference to y from a column of x.
func (r *run) dropRef(x *row, column string, y *row) {
	r.change(x, column, ovsdb.UUIDSet(y.id), ovsdb.Datum{})
}

// invalidate drops what was worked out from the rows.
func (r *run) invalidate() { r.cache = nil }
