package ovsdb

import (
	"fmt"
	"slices"
)

// DB is a database in memory: the committed rows and what makes checking a
// transaction cheap (indexes and reference counts).
type DB struct {
	schema *Schema
	tables map[*Table]*tableData
	strong map[target]int            // how many strong references each row has
	weak   map[target]map[target]int // row -> rows that refer to it weakly
}

type tableData struct {
	rows    map[UUID]*Row
	indexes []map[string]UUID
}

// target names a row.
type target struct {
	table *Table
	id    UUID
}

// Change is what a transaction did to one row. Old is nil for an insert, New
// for a deletion.
type Change struct {
	Table    *Table
	Old, New *Row
}

// UUID names the row.
func (c *Change) UUID() UUID {
	if c.New != nil {
		return c.New.UUID()
	}
	return c.Old.UUID()
}

// NewDB makes an empty database.
func NewDB(s *Schema) *DB {
	db := &DB{
		schema: s,
		tables: make(map[*Table]*tableData),
		strong: make(map[target]int),
		weak:   make(map[target]map[target]int),
	}
	for _, t := range s.Tables {
		td := &tableData{rows: make(map[UUID]*Row), indexes: make([]map[string]UUID, len(t.Indexes))}
		for i := range td.indexes {
			td.indexes[i] = make(map[string]UUID)
		}
		db.tables[t] = td
	}
	return db
}

// Schema returns the schema.
func (db *DB) Schema() *Schema { return db.schema }

// Row returns a committed row, or nil.
func (db *DB) Row(t *Table, id UUID) *Row { return db.tables[t].rows[id] }

// Rows returns the committed rows of a table. The map is the DB's own: it must
// not be changed, nor used after the next transaction.
func (db *DB) Rows(t *Table) map[UUID]*Row { return db.tables[t].rows }

// apply makes changes that have passed all checks.
func (db *DB) apply(changes []Change) {
	for i := range changes {
		if c := &changes[i]; c.Old != nil {
			db.forget(c.Table, c.Old)
		}
	}
	for i := range changes {
		if c := &changes[i]; c.New != nil {
			db.remember(c.Table, c.New)
		}
	}
}

func (db *DB) forget(t *Table, r *Row) {
	td := db.tables[t]
	delete(td.rows, r.UUID())
	for i, ix := range t.Indexes {
		delete(td.indexes[i], indexKey(ix, r))
	}
	db.count(t, r, -1)
}

func (db *DB) remember(t *Table, r *Row) {
	td := db.tables[t]
	td.rows[r.UUID()] = r
	for i, ix := range t.Indexes {
		td.indexes[i][indexKey(ix, r)] = r.UUID()
	}
	db.count(t, r, +1)
}

// count adds n to the counts of everything that r refers to.
func (db *DB) count(t *Table, r *Row, n int) {
	src := target{t, r.UUID()}
	db.forEachRef(t, r, func(to target, strong bool, _ *Column) {
		if to == src {
			return // a row does not keep itself alive
		}
		if strong {
			if db.strong[to] += n; db.strong[to] == 0 {
				delete(db.strong, to)
			}
			return
		}
		from := db.weak[to]
		if from == nil {
			from = make(map[target]int)
			db.weak[to] = from
		}
		if from[src] += n; from[src] == 0 {
			delete(from, src)
		}
		if len(from) == 0 {
			delete(db.weak, to)
		}
	})
}

// forEachRef calls f for every reference in the row.
func (db *DB) forEachRef(t *Table, r *Row, f func(to target, strong bool, c *Column)) {
	for _, c := range t.Columns[colVersion+1:] {
		d := r.cols[c.Index]
		if ref := c.Type.Key.RefTable; ref != "" {
			for _, a := range d.keys {
				f(target{db.schema.Tables[ref], a.id}, c.Type.Key.Strong, c)
			}
		}
		if v := c.Type.Value; v != nil && v.RefTable != "" {
			for _, a := range d.values {
				f(target{db.schema.Tables[v.RefTable], a.id}, v.Strong, c)
			}
		}
	}
}

// indexKey is a text that is equal for rows whose indexed columns are.
func indexKey(columns []*Column, r *Row) string {
	var b []byte
	for _, c := range columns {
		v, _ := EncodeJSON(c.Type.JSON(r.cols[c.Index]))
		b = append(append(b, v...), ' ')
	}
	return string(b)
}

// Content is the rows of a database outside a DB: by table and row, the columns
// that were given.
type Content map[*Table]map[UUID]map[*Column]Datum

// Load fills an empty database. Strong references must lead to rows, indexes
// and limits must hold; rows that nothing refers to are dropped as a
// transaction would.
func (db *DB) Load(content Content) error {
	tx := newTxn(db)
	for t, rows := range content {
		for id, vals := range rows {
			r := newRow(t, id)
			for c, d := range vals {
				if c.Index > colVersion {
					r.set(c, d)
				}
			}
			tx.change(t, id).New = r
		}
	}
	changes, err := tx.precommit()
	if err != nil {
		return err
	}
	db.apply(changes)
	return nil
}

// Convert copies the database to another schema, by names. What cannot be
// carried over (a table, a column, a value that the new type does not allow) is
// left out and named in lost, if it held anything.
func (db *DB) Convert(to *Schema) (out *DB, lost []string, err error) {
	content := make(Content)
	for _, name := range db.schema.TableNames() {
		t, nt := db.schema.Tables[name], to.Tables[name]
		rows := db.tables[t].rows
		if nt == nil {
			if len(rows) > 0 {
				lost = append(lost, fmt.Sprintf("table %s (%d rows): not in the schema", name, len(rows)))
			}
			continue
		}
		content[nt] = make(map[UUID]map[*Column]Datum, len(rows))
		for id, r := range rows {
			vals := make(map[*Column]Datum)
			for _, c := range t.Columns[colVersion+1:] {
				d := r.Get(c)
				if d.Equal(c.Type.Default()) {
					continue
				}
				nc := nt.Column(c.Name)
				if nc == nil {
					lost = append(lost, fmt.Sprintf("table %s row %s column %s: not in the schema", name, id, c.Name))
				} else if err := nc.Type.Check(d); err != nil {
					lost = append(lost, fmt.Sprintf("table %s row %s column %s: %v", name, id, c.Name, err))
				} else {
					vals[nc] = d
				}
			}
			content[nt][id] = vals
		}
	}
	slices.Sort(lost)
	out = NewDB(to)
	return out, lost, out.Load(content)
}
