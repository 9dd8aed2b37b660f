package ovsdb

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Schema is a <database-schema> (RFC 7047 section 3.2).
type Schema struct {
	Name    string
	Version string
	Tables  map[string]*Table

	raw json.RawMessage // as it was read, compact
}

// Table is a <table-schema>.
type Table struct {
	Name    string
	Columns []*Column // _uuid, _version, then the others by name
	IsRoot  bool      // rows live without being referenced
	MaxRows int
	Indexes [][]*Column

	byName map[string]*Column
}

// Column is a <column-schema>. Index is its place in Table.Columns and in a
// row.
type Column struct {
	Name      string
	Index     int
	Type      ColumnType
	Ephemeral bool
	Mutable   bool
}

// Places of the columns that every table has.
const (
	colUUID    = 0
	colVersion = 1
)

// Column returns the column of that name, or nil.
func (t *Table) Column(name string) *Column { return t.byName[name] }

// JSON returns the schema as it was read, without white space.
func (s *Schema) JSON() json.RawMessage { return s.raw }

// TableNames returns the tables in order.
func (s *Schema) TableNames() []string { return slices.Sorted(maps.Keys(s.Tables)) }

// ParseSchema reads an .ovsschema file or the reply of get_schema. Every
// reference must lead to a table of the schema.
func ParseSchema(b []byte) (*Schema, error) {
	v, err := DecodeJSON(b)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s, err := parseSchema(v)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s.raw, err = EncodeJSON(v)
	return s, err
}

func parseSchema(v any) (*Schema, error) {
	p, err := newParser(v, "database schema")
	if err != nil {
		return nil, err
	}
	s := &Schema{Name: p.str("name", required), Version: p.str("version", optional), Tables: map[string]*Table{}}
	p.str("cksum", optional)
	tables, _ := typed[map[string]any](p, "tables", required)
	if err := p.finish(); err != nil {
		return nil, err
	}
	if !IsID(s.Name) {
		return nil, syntaxError(s.Name, "", "name must be a valid id")
	}
	anyRoot := false
	for name, tv := range tables {
		t, err := parseTable(name, tv)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
		s.Tables[name] = t
		anyRoot = anyRoot || t.IsRoot
	}
	if !anyRoot {
		// RFC 7047: schemas from before isRoot existed.
		for _, t := range s.Tables {
			t.IsRoot = true
		}
	}
	return s, s.checkReferences()
}

func (s *Schema) checkReferences() error {
	for _, t := range s.Tables {
		for _, c := range t.Columns {
			bases := []*BaseType{&c.Type.Key}
			if c.Type.Value != nil {
				bases = append(bases, c.Type.Value)
			}
			for _, b := range bases {
				if b.RefTable == "" {
					continue
				}
				if s.Tables[b.RefTable] == nil {
					return fmt.Errorf("table %s column %s refers to table %s, which does not exist", t.Name, c.Name, b.RefTable)
				}
				if !b.Strong {
					c.Mutable = true // ovsdb-server(7) section 3.2
				}
			}
		}
	}
	return nil
}

func parseTable(name string, v any) (*Table, error) {
	p, err := newParser(v, "table schema for table "+name)
	if err != nil {
		return nil, err
	}
	columns, _ := typed[map[string]any](p, "columns", required)
	t := &Table{Name: name, MaxRows: int(p.integer("maxRows", Unlimited))}
	t.IsRoot, _ = typed[bool](p, "isRoot", optional)
	indexes, _ := typed[[]any](p, "indexes", optional)
	if err := p.finish(); err != nil {
		return nil, err
	}
	if !IsID(name) || name[0] == '_' || t.MaxRows < 1 {
		return nil, syntaxError(v, "", "bad table name or maxRows")
	}
	uuidType := ColumnType{Key: unconstrained(UUIDKind), Min: 1, Max: 1}
	t.Columns = []*Column{
		{Name: "_uuid", Index: colUUID, Type: uuidType},
		{Name: "_version", Index: colVersion, Type: uuidType, Ephemeral: true},
	}
	for _, cname := range slices.Sorted(maps.Keys(columns)) {
		c, err := parseColumn(cname, columns[cname])
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", cname, err)
		}
		c.Index = len(t.Columns)
		t.Columns = append(t.Columns, c)
	}
	t.byName = make(map[string]*Column, len(t.Columns))
	for _, c := range t.Columns {
		t.byName[c.Name] = c
	}
	for _, iv := range indexes {
		cols, err := parseColumnSet(t, iv)
		if err != nil {
			return nil, err
		}
		if len(cols) == 0 {
			return nil, syntaxError(iv, "", "index must have at least one column")
		}
		for _, c := range cols {
			if c.Ephemeral {
				return nil, syntaxError(iv, "", "ephemeral columns (such as %s) may not be indexed", c.Name)
			}
		}
		t.Indexes = append(t.Indexes, cols)
	}
	return t, nil
}

func parseColumn(name string, v any) (*Column, error) {
	p, err := newParser(v, "schema for column "+name)
	if err != nil {
		return nil, err
	}
	c := &Column{Name: name, Mutable: true}
	tv, _ := p.any("type", required)
	c.Ephemeral, _ = typed[bool](p, "ephemeral", optional)
	if m, ok := typed[bool](p, "mutable", optional); ok {
		c.Mutable = m
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	if !IsID(name) || name[0] == '_' {
		return nil, syntaxError(name, "", "names beginning with _ are reserved")
	}
	c.Type, err = parseColumnType(tv)
	return c, err
}

// ParseColumns reads an array of distinct column names of generic JSON, as
// select, wait and monitor requests have it. Errors are *Error.
func (t *Table) ParseColumns(v any) ([]*Column, error) { return parseColumnSet(t, v) }

// parseColumnSet reads an array of column names.
func parseColumnSet(t *Table, v any) ([]*Column, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, syntaxError(v, "", "array of distinct column names expected")
	}
	cols := make([]*Column, 0, len(list))
	for _, item := range list {
		name, ok := item.(string)
		if !ok {
			return nil, syntaxError(v, "", "array of distinct column names expected")
		}
		c := t.Column(name)
		if c == nil {
			return nil, syntaxError(v, "", "%s is not a valid column name", name)
		}
		if slices.Contains(cols, c) {
			return nil, syntaxError(v, "", "array of distinct column names expected")
		}
		cols = append(cols, c)
	}
	return cols, nil
}
