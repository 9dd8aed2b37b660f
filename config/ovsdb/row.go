package ovsdb

import "encoding/json"

// Row is one row of a table. A committed row never changes: an update makes a
// new one.
type Row struct {
	cols []Datum // by Column.Index
}

func newRow(t *Table, id UUID) *Row {
	r := &Row{cols: make([]Datum, len(t.Columns))}
	for i, c := range t.Columns {
		r.cols[i] = c.Type.Default()
	}
	r.cols[colUUID] = Scalar(Ref(id))
	return r
}

func (r *Row) clone() *Row { return &Row{cols: append([]Datum(nil), r.cols...)} }

// UUID is the row's name.
func (r *Row) UUID() UUID { return r.cols[colUUID].keys[0].id }

// Get returns a column's value; c must be of the row's table.
func (r *Row) Get(c *Column) Datum { return r.cols[c.Index] }

func (r *Row) set(c *Column, d Datum) { r.cols[c.Index] = d }

// sameContent compares all columns but _uuid and _version.
func (r *Row) sameContent(o *Row) bool {
	for i := colVersion + 1; i < len(r.cols); i++ {
		if !r.cols[i].Equal(o.cols[i]) {
			return false
		}
	}
	return true
}

// JSON gives the named columns in wire form.
func (r *Row) JSON(columns []*Column) map[string]any {
	out := make(map[string]any, len(columns))
	for _, c := range columns {
		out[c.Name] = c.Type.JSON(r.cols[c.Index])
	}
	return out
}

// AppendFile appends the row as a <row-txn> of the standalone file format
// (ovsdb(5)): persistent columns that differ from their defaults.
func (t *Table) AppendFile(b []byte, r *Row) ([]byte, error) {
	b = append(b, '{')
	first := true
	for _, c := range t.Columns[colVersion+1:] {
		d := r.cols[c.Index]
		if c.Ephemeral || d.Equal(c.Type.Default()) {
			continue
		}
		v, err := EncodeJSON(c.Type.JSON(d))
		if err != nil {
			return nil, err
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		name, _ := json.Marshal(c.Name)
		b = append(append(append(b, name...), ':'), v...)
	}
	return append(b, '}'), nil
}

// ParseRow reads a <row> of generic JSON: the columns it names. Errors are
// *Error.
func (t *Table) ParseRow(v any) (map[*Column]Datum, error) { return parseRow(t, v, nil) }

// parseRow reads a <row> (RFC 7047 section 5.1): the columns it names.
func parseRow(t *Table, v any, sym Symbols) (map[*Column]Datum, error) {
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, syntaxError(v, "", "row must be JSON object")
	}
	vals := make(map[*Column]Datum, len(obj))
	for name, cv := range obj {
		c := t.Column(name)
		if c == nil {
			return nil, syntaxError(v, "unknown column", "No column %s in table %s.", name, t.Name)
		}
		d, err := c.Type.Parse(cv, sym)
		if err != nil {
			return nil, err
		}
		vals[c] = d
	}
	return vals, nil
}

// ParseDiff reads a <row> whose values are differences, as Diff gives them:
// any number of elements, and no constraints.
func (t *Table) ParseDiff(v any) (map[*Column]Datum, error) {
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, syntaxError(v, "", "row must be JSON object")
	}
	vals := make(map[*Column]Datum, len(obj))
	for name, cv := range obj {
		c := t.Column(name)
		if c == nil {
			return nil, syntaxError(v, "unknown column", "No column %s in table %s.", name, t.Name)
		}
		d, err := c.Type.ParseDiff(cv)
		if err != nil {
			return nil, err
		}
		vals[c] = d
	}
	return vals, nil
}
