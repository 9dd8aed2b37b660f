// Package rowtest makes database rows of a short text, for tests of what reads rows. It knows no schema: a column has the type that its
// value looks like. Its rows never change.
package rowtest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
)

// Rows is a database made of text.
type Rows map[string][]*Row

// Row is one of its rows.
type Row struct {
	id   ovsdb.UUID
	cols map[string]ovsdb.Datum
}

// UUID implements desired.Row.
func (r *Row) UUID() ovsdb.UUID { return r.id }

// Get implements desired.Row.
func (r *Row) Get(column string) ovsdb.Datum { return r.cols[column] }

// Table implements desired.Rows.
func (f Rows) Table(name string) []desired.Row {
	rows := make([]desired.Row, len(f[name]))
	for i, r := range f[name] {
		rows[i] = r
	}
	return rows
}

// Row implements desired.Rows.
func (f Rows) Row(table string, id ovsdb.UUID) desired.Row {
	for _, r := range f[table] {
		if r.id == id {
			return r
		}
	}
	return nil
}

// Parse reads lines of the form "switch SETTING...", "bridge NAME SETTING...", "port NAME SETTING... / SETTING..." (the Port's settings, then
// those of its Interface of the same name) and "also NAME SETTING..." (one more Interface of the port before), "mirror NAME SETTING..." (where @PORT is a port); ports and mirrors belong to the bridge
// before it. "again port NAME" puts a port of another bridge into this one as well. A setting is COLUMN=VALUE, COLUMN:KEY=VALUE or
// COLUMN=[VALUE,...]. Lines that begin with # are comments. A row's UUID comes from its table and name, so that it is the same row in another
// text.
func Parse(text string) (Rows, error) {
	p := parser{rows: Rows{}}
	p.root = p.add("Open_vSwitch", "", nil)
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if p.line(words); p.err != nil {
			return nil, fmt.Errorf("%q: %w", line, p.err)
		}
	}
	return p.rows, nil
}

type parser struct {
	rows               Rows
	root, bridge, port *Row
	err                error
}

func (p *parser) line(words []string) {
	switch {
	case words[0] == "switch":
		for _, s := range words[1:] {
			p.set(p.root, s)
		}
	case len(words) < 2:
		p.err = fmt.Errorf("a name is missing")
	case words[0] == "bridge":
		p.bridge = p.add("Bridge", words[1], words[2:])
		refer(p.root, "bridges", p.bridge)
	case words[0] == "port" && p.bridge != nil:
		before, after := words[2:], []string(nil)
		for i, w := range before {
			if w == "/" {
				before, after = before[:i], before[i+1:]
				break
			}
		}
		p.port = p.add("Port", words[1], before)
		refer(p.bridge, "ports", p.port)
		refer(p.port, "interfaces", p.add("Interface", words[1], after))
	case words[0] == "mirror" && p.bridge != nil:
		refer(p.bridge, "mirrors", p.add("Mirror", words[1], words[2:]))
	case words[0] == "also" && p.port != nil:
		refer(p.port, "interfaces", p.add("Interface", words[1], words[2:]))
	case words[0] == "again" && p.bridge != nil && len(words) == 3:
		refer(p.bridge, "ports", &Row{id: rowID("Port", words[2])})
	default:
		p.err = fmt.Errorf("bad line")
	}
}

func (p *parser) add(table, name string, settings []string) *Row {
	r := &Row{id: rowID(table, name), cols: map[string]ovsdb.Datum{"name": ovsdb.Scalar(ovsdb.Str(name))}}
	for _, s := range settings {
		p.set(r, s)
	}
	p.rows[table] = append(p.rows[table], r)
	return r
}

// rowID is made of the names' bytes.
func rowID(table, name string) (id ovsdb.UUID) {
	id[0], id[1] = table[0], table[1]
	for i := range len(name) {
		id[15-i%13] += name[i]
	}
	return id
}

func refer(r *Row, column string, to *Row) {
	r.cols[column] = ovsdb.UUIDSet(append(r.cols[column].UUIDs(), to.id)...)
}

func (p *parser) set(r *Row, setting string) {
	name, value, ok := strings.Cut(setting, "=")
	if !ok {
		p.err = fmt.Errorf("setting %q has no value", setting)
	}
	if column, key, isMap := strings.Cut(name, ":"); isMap {
		m := r.cols[column].StringMap()
		m[key] = value
		r.cols[column] = ovsdb.StringMap(m)
		return
	}
	list, isList := strings.CutPrefix(value, "[")
	if !isList {
		r.cols[name] = ovsdb.Scalar(atom(value))
		return
	}
	var atoms []ovsdb.Atom
	for word := range strings.SplitSeq(strings.TrimSuffix(list, "]"), ",") {
		atoms = append(atoms, atom(word))
	}
	r.cols[name] = ovsdb.NewSet(atoms...)
}

func atom(s string) ovsdb.Atom {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return ovsdb.Int(n)
	}
	if port, ok := strings.CutPrefix(s, "@"); ok {
		return ovsdb.Ref(rowID("Port", port))
	}
	if s == "true" || s == "false" {
		return ovsdb.Bool(s == "true")
	}
	return ovsdb.Str(s)
}
