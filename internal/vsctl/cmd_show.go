package vsctl

import (
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// showColumns are the columns that show prints of each table, after the name.
type showTable struct {
	name    string // column with the name, or "" for the UUID
	columns []string
}

var showTables = map[string]showTable{
	"Open_vSwitch": {"", []string{"manager_options", "bridges", "ovs_version"}},
	"Bridge":       {"name", []string{"controller", "fail_mode", "datapath_type", "ports"}},
	"Port":         {"name", []string{"tag", "trunks", "interfaces"}},
	"Interface":    {"name", []string{"type", "options", "error", "bfd_status"}},
	"Controller":   {"target", []string{"is_connected"}},
	"Manager":      {"target", []string{"is_connected"}},
}

// ownColumns are those that show prints in addition when it is not ovs-vsctl's.
var ownColumns = map[string][]string{"Interface": {"ofport", "link_state"}, "Port": {"vlan_mode"}}

func (o *Options) showColumns(table string) []string {
	columns := showTables[table].columns
	if !o.Compat {
		columns = append(columns[:len(columns):len(columns)], ownColumns[table]...)
	}
	return columns
}

func showCommands() []*Syntax {
	return []*Syntax{
		{Name: "init", Brief: "initialize the database, if it is empty", run: runInit},
		{Name: "show", Brief: "print an overview of the database", prepare: prepareShow, run: runShow},
		{Name: "emer-reset", Brief: "reset the switch to a known good state", prepare: prepareReset, run: runReset},
	}
}

func runInit(r *run, _ *Command) error {
	r.init = true
	return nil
}

func prepareShow(p *plan, _ *Command) error {
	for name, t := range showTables {
		p.need(name, p.options.showColumns(name)...)
		if t.name != "" {
			p.need(name, t.name)
		}
	}
	return nil
}

func runShow(r *run, _ *Command) error {
	if len(r.base["Open_vSwitch"]) == 0 && !r.options.Compat {
		return nil
	}
	r.out.value = r.show(r.ovs, 0)
	return nil
}

// show prints a row and those that it refers to, each indented below it, and returns the same as a value.
func (r *run) show(x *row, level int) map[string]any {
	value := make(map[string]any)
	indent := strings.Repeat("    ", level)
	if column := showTables[x.table.Name].name; column != "" {
		c := x.table.Column(column)
		r.printf("%s%s %s\n", indent, x.table.Name, formatDatum(&c.Type, r.get(x, c)))
		value[column] = r.get(x, c).Str()
	} else {
		r.printf("%s%s\n", indent, x.id)
		value["_uuid"] = x.id.String()
	}
	for _, name := range r.options.showColumns(x.table.Name) {
		c := x.table.Column(name)
		if c == nil {
			continue
		}
		if _, shown := showTables[c.Type.Key.RefTable]; shown {
			rows := []map[string]any{}
			for _, y := range r.refsByName(x, c) {
				rows = append(rows, r.show(y, level+1))
			}
			value[name] = rows
			continue
		}
		d := r.get(x, c)
		if d.Equal(c.Type.Default()) {
			continue
		}
		r.printf("%s    %s: %s\n", indent, c.Name, formatDatum(&c.Type, d))
		value[name] = plain(&c.Type, d)
	}
	return value
}

// refsByName returns the rows that a column refers to, in the order of their names.
func (r *run) refsByName(x *row, c *ovsdb.Column) []*row {
	refs := r.get(x, c)
	var rows []*row
	for _, y := range r.rows(r.schema.Tables[c.Type.Key.RefTable]) {
		if refs.Has(ovsdb.Ref(y.id)) {
			rows = append(rows, y)
		}
	}
	return rows
}

// plain is a datum as programs outside OVSDB expect it: a scalar or an optional value alone, a set as an array, a map as an object.
func plain(t *ovsdb.ColumnType, d ovsdb.Datum) any {
	switch {
	case t.IsMap():
		m := make(map[string]any, d.Len())
		for i := range d.Len() {
			m[d.Key(i).String()] = plainAtom(d.Value(i))
		}
		return m
	case t.Max == 1 && d.Len() == 1:
		return plainAtom(d.Key(0))
	default:
		atoms := make([]any, d.Len())
		for i := range atoms {
			atoms[i] = plainAtom(d.Key(i))
		}
		return atoms
	}
}

func plainAtom(a ovsdb.Atom) any {
	if a.Kind() == ovsdb.UUIDKind {
		return a.UUID().String()
	}
	return a.JSON()
}
