package ovsdb

import (
	"maps"
	"slices"
	"strings"
)

// ReplaceOps returns the operations, in generic JSON, of a transaction that
// makes another database of the same schema hold what this one does, in place
// of what it had. Rows get new UUIDs there (the old may be in use), references
// follow; ephemeral columns are left out.
func (db *DB) ReplaceOps() []any {
	var ops []any
	for _, name := range db.schema.TableNames() {
		if db.schema.Tables[name].IsRoot {
			ops = append(ops, map[string]any{"op": "delete", "table": name, "where": []any{}})
		}
	}
	for _, name := range db.schema.TableNames() {
		t := db.schema.Tables[name]
		rows := db.tables[t].rows
		for _, id := range slices.SortedFunc(maps.Keys(rows), UUID.Compare) {
			row := make(map[string]any)
			for _, c := range t.Columns[colVersion+1:] {
				if d := rows[id].Get(c); !c.Ephemeral && !d.Equal(c.Type.Default()) {
					row[c.Name] = db.namedJSON(&c.Type, d)
				}
			}
			ops = append(ops, map[string]any{"op": "insert", "table": name, "uuid-name": rowName(id), "row": row})
		}
	}
	return ops
}

// namedJSON is the wire form with names in place of references to rows.
func (db *DB) namedJSON(t *ColumnType, d Datum) any {
	atom := func(b *BaseType, a Atom) any {
		if b.RefTable == "" || db.Row(db.schema.Tables[b.RefTable], a.id) == nil {
			return a.JSON()
		}
		return []any{"named-uuid", rowName(a.id)}
	}
	list := make([]any, len(d.keys))
	for i, k := range d.keys {
		list[i] = atom(&t.Key, k)
		if t.Value != nil {
			list[i] = []any{list[i], atom(t.Value, d.values[i])}
		}
	}
	return []any{t.className(), list}
}

// rowName is a UUID as an <id>.
func rowName(id UUID) string { return "row" + strings.ReplaceAll(id.String(), "-", "_") }
