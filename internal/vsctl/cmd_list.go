package vsctl

import (
	"errors"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

func listCommands() []*Syntax {
	columns := Option{"--columns", valueOption}
	return []*Syntax{
		{
			Name: "list", Args: "TABLE [RECORD]...", Brief: "list records, or all of a table",
			minArgs: 1, maxArgs: anyNumber, Options: []Option{{Name: "--if-exists"}, columns}, prepare: prepareList, run: runList,
		},
		{
			Name: "find", Args: "TABLE [COLUMN[:KEY]=VALUE]...", Brief: "list records that fulfil conditions",
			minArgs: 1, maxArgs: anyNumber, Options: []Option{columns}, prepare: prepareFind, run: runFind,
		},
	}
}

func prepareList(p *plan, c *Command) error {
	t, err := p.table(c.Args[0])
	if err == nil {
		err = p.columnList(t, c)
	}
	return err
}

func prepareFind(p *plan, c *Command) error {
	t, err := p.table(c.Args[0])
	if err == nil {
		err = p.columnList(t, c)
	}
	for _, arg := range c.Args[1:] {
		if err == nil {
			err = p.argument(t, arg)
		}
	}
	return err
}

func runList(r *run, c *Command) error {
	t, out, add, err := r.newTable(c)
	if err != nil {
		return err
	}
	for _, record := range c.Args[1:] {
		x, err := r.find(t, record, !c.has("--if-exists"))
		if err != nil {
			return err
		}
		if x != nil {
			add(x)
		}
	}
	if len(c.Args) == 1 {
		for _, x := range r.rows(t) {
			add(x)
		}
	}
	r.out.table = out
	return nil
}

func runFind(r *run, c *Command) error {
	t, out, add, err := r.newTable(c)
	if err != nil {
		return err
	}
rows:
	for _, x := range r.rows(t) {
		for _, arg := range c.Args[1:] {
			ok, err := r.satisfies(x, arg)
			if err != nil {
				return err
			}
			if !ok {
				continue rows
			}
		}
		add(x)
	}
	r.out.table = out
	return nil
}

// newTable makes an empty output table for a command and the function that adds a row to it.
func (r *run) newTable(c *Command) (t *ovsdb.Table, out *table, add func(*row), err error) {
	t, err = findTable(r.schema, c.Args[0])
	if err != nil {
		return nil, nil, nil, err
	}
	columns, err := columnsOf(t, c)
	if err != nil {
		return nil, nil, nil, err
	}
	out = &table{}
	for _, col := range columns {
		out.headings = append(out.headings, col.Name)
	}
	add = func(x *row) {
		cells := make([]cell, len(columns))
		for i, col := range columns {
			d := r.get(x, col)
			if col.Name == "_uuid" {
				d = ovsdb.Scalar(ovsdb.Ref(x.id))
			}
			cells[i] = datumCell(&col.Type, d)
		}
		out.rows = append(out.rows, cells)
	}
	return t, out, add, nil
}

// columnsOf returns the columns that --columns asks for, or all, _uuid first.
func columnsOf(t *ovsdb.Table, c *Command) ([]*ovsdb.Column, error) {
	list, ok := c.options["--columns"]
	if !ok {
		return append([]*ovsdb.Column{t.Column("_uuid")}, userColumns(t)...), nil
	}
	var columns []*ovsdb.Column
	for _, name := range strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' }) {
		if isUUIDColumn(name) {
			columns = append(columns, t.Column("_uuid"))
			continue
		}
		col, err := findColumn(t, name)
		if err != nil {
			return nil, err
		}
		columns = append(columns, col)
	}
	if len(columns) == 0 {
		return nil, errors.New("must specify at least one column name")
	}
	return slices.Clip(columns), nil
}
