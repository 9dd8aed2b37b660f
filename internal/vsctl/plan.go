package vsctl

import (
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// plan gathers which columns a session must follow.
type plan struct {
	schema  *ovsdb.Schema
	options *Options
	columns map[string]map[string]bool
}

func newPlan(s *ovsdb.Schema, o *Options) *plan {
	return &plan{schema: s, options: o, columns: make(map[string]map[string]bool)}
}

// need adds columns of a table; those that the schema lacks are left out, so that an older database can be worked on.
func (p *plan) need(table string, columns ...string) {
	t := p.schema.Tables[table]
	if t == nil {
		return
	}
	if p.columns[table] == nil {
		p.columns[table] = make(map[string]bool)
	}
	for _, c := range columns {
		if t.Column(c) != nil {
			p.columns[table][c] = true
		}
	}
}

// table adds a table by the name that was typed, with what is needed to find its records.
func (p *plan) table(typed string) (*ovsdb.Table, error) {
	t, err := findTable(p.schema, typed)
	if err != nil {
		return nil, err
	}
	p.need(t.Name)
	if t.Column("name") != nil { // by which rows are ordered
		p.need(t.Name, "name")
	}
	if id, ok := rowIDs[t.Name]; ok {
		p.need(id.table, id.column)
		if id.reference != "" {
			p.need(id.table, id.reference)
		}
	}
	return t, nil
}

// column adds a column by the name that was typed.
func (p *plan) column(t *ovsdb.Table, typed string) error {
	c, err := findColumn(t, typed)
	if err == nil {
		p.need(t.Name, c.Name)
	}
	return err
}

// argument adds the column of an argument COLUMN[:KEY]..., without looking at the rest.
func (p *plan) argument(t *ovsdb.Table, arg string) error {
	a, _, err := splitColumn(arg)
	if err != nil {
		return err
	}
	return p.column(t, a.column)
}

// columnList adds the columns of --columns, or all.
func (p *plan) columnList(t *ovsdb.Table, c *Command) error {
	columns, err := columnsOf(t, c)
	for _, col := range columns {
		if !strings.HasPrefix(col.Name, "_") {
			p.need(t.Name, col.Name)
		}
	}
	return err
}

// bridges adds what the bridge, port and interface commands look at.
func (p *plan) bridges() {
	p.need("Open_vSwitch", "bridges")
	p.need("Bridge", "name", "controller", "fail_mode", "ports")
	p.need("Port", "name", "fake_bridge", "tag", "interfaces")
	p.need("Interface", "name", "ofport", "error")
}

// result returns the columns in the form of Database.Monitor.
func (p *plan) result() map[string][]string {
	m := make(map[string][]string, len(p.columns))
	for t, columns := range p.columns {
		m[t] = []string{}
		for _, c := range userColumns(p.schema.Tables[t]) {
			if columns[c.Name] {
				m[t] = append(m[t], c.Name)
			}
		}
	}
	return m
}
