package desired

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// fakeRows is a database made of text, see parseRows.
type fakeRows map[string][]*fakeRow

type fakeRow struct {
	id   ovsdb.UUID
	cols map[string]ovsdb.Datum
}

func (r *fakeRow) UUID() ovsdb.UUID              { return r.id }
func (r *fakeRow) Get(column string) ovsdb.Datum { return r.cols[column] }

func (f fakeRows) Table(name string) []Row {
	rows := make([]Row, len(f[name]))
	for i, r := range f[name] {
		rows[i] = r
	}
	return rows
}

func (f fakeRows) Row(table string, id ovsdb.UUID) Row {
	for _, r := range f[table] {
		if r.id == id {
			return r
		}
	}
	return nil
}

// parseRows reads lines of the form "switch SETTING...", "bridge NAME SETTING...", "port NAME SETTING... / SETTING..." and "also NAME
// SETTING..." (one more interface of the port before); a port goes to the bridge before it. A setting is COLUMN=VALUE,
// COLUMN:KEY=VALUE, or COLUMN=[INTEGER ...].
func parseRows(t *testing.T, text string) fakeRows {
	t.Helper()
	f := fakeRows{}
	rows := byte(0)
	add := func(table, name string, settings []string) *fakeRow {
		rows++
		r := &fakeRow{id: ovsdb.UUID{0: 1, 10: rows, 15: rows}, cols: map[string]ovsdb.Datum{"name": ovsdb.Scalar(ovsdb.Str(name))}}
		for _, s := range settings {
			r.set(t, s)
		}
		f[table] = append(f[table], r)
		return r
	}
	refer := func(r *fakeRow, column string, to *fakeRow) {
		r.cols[column] = ovsdb.UUIDSet(append(r.cols[column].UUIDs(), to.id)...)
	}
	root := add("Open_vSwitch", "", nil)
	var bridge, port *fakeRow
	for line := range strings.Lines(text) {
		words := strings.Fields(strings.ReplaceAll(line, ", ", ","))
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "switch":
			for _, s := range words[1:] {
				root.set(t, s)
			}
		case "bridge":
			bridge = add("Bridge", words[1], words[2:])
			refer(root, "bridges", bridge)
		case "port":
			before, after := words[2:], []string(nil)
			for i, w := range before {
				if w == "/" {
					before, after = before[:i], before[i+1:]
					break
				}
			}
			port = add("Port", words[1], before)
			refer(bridge, "ports", port)
			refer(port, "interfaces", add("Interface", words[1], after))
		case "also":
			refer(port, "interfaces", add("Interface", words[1], words[2:]))
		default:
			t.Fatalf("bad line %q", line)
		}
	}
	return f
}

func (r *fakeRow) set(t *testing.T, setting string) {
	t.Helper()
	name, value, ok := strings.Cut(setting, "=")
	if !ok {
		t.Fatalf("bad setting %q", setting)
	}
	if column, key, isMap := strings.Cut(name, ":"); isMap {
		m := r.cols[column].StringMap()
		m[key] = value
		r.cols[column] = ovsdb.StringMap(m)
		return
	}
	r.cols[name] = ovsdb.Scalar(atom(value))
	if list, isList := strings.CutPrefix(value, "["); isList {
		var atoms []ovsdb.Atom
		for word := range strings.SplitSeq(strings.TrimSuffix(list, "]"), ",") {
			atoms = append(atoms, atom(word))
		}
		r.cols[name] = ovsdb.NewSet(atoms...)
	}
}

func atom(s string) ovsdb.Atom {
	var n int64
	if _, err := fmt.Sscanf(s, "%d", &n); err == nil && fmt.Sprint(n) == s {
		return ovsdb.Int(n)
	}
	if s == "true" || s == "false" {
		return ovsdb.Bool(s == "true")
	}
	return ovsdb.Str(s)
}
