package vsctl

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// score says how well the typed word fits a name: 0 not at all, otherwise more is better. Case does not matter, - and _ are the same, and
// a beginning is enough.
func score(name, typed string) int {
	if name == typed {
		return math.MaxInt
	}
	name, typed = fold(name), fold(typed)
	switch {
	case name == typed:
		return math.MaxInt - 1
	case strings.HasPrefix(name, typed):
		return len(typed)
	default:
		return 0
	}
}

func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }

// best returns those of names that fit typed best.
func best(names []string, typed string) []string {
	var found []string
	top := 0
	for _, n := range names {
		s := score(n, typed)
		if s > top {
			found, top = nil, s
		}
		if s > 0 && s == top {
			found = append(found, n)
		}
	}
	slices.Sort(found)
	return found
}

// findTable returns the table that the typed name means.
func findTable(s *ovsdb.Schema, typed string) (*ovsdb.Table, error) {
	switch names := best(s.TableNames(), typed); len(names) {
	case 0:
		return nil, fmt.Errorf(`unknown table "%s"`, typed)
	case 1:
		return s.Tables[names[0]], nil
	default:
		return nil, fmt.Errorf(`"%s" matches multiple table names: %s`, typed, strings.Join(names, ", "))
	}
}

// findColumn returns the column that the typed name means. _uuid and _version are not among them.
func findColumn(t *ovsdb.Table, typed string) (*ovsdb.Column, error) {
	names := make([]string, 0, len(t.Columns))
	for _, c := range userColumns(t) {
		names = append(names, c.Name)
	}
	switch names = best(names, typed); len(names) {
	case 0:
		return nil, fmt.Errorf(`%s does not contain a column whose name matches "%s"`, t.Name, typed)
	case 1:
		return t.Column(names[0]), nil
	default:
		return nil, fmt.Errorf(`%s contains more than one column whose name matches "%s": %s`, t.Name, typed, strings.Join(names, ", "))
	}
}

// userColumns returns the columns of the schema file, by name.
func userColumns(t *ovsdb.Table) []*ovsdb.Column {
	columns := make([]*ovsdb.Column, 0, len(t.Columns))
	for _, c := range t.Columns {
		if !strings.HasPrefix(c.Name, "_") {
			columns = append(columns, c)
		}
	}
	return columns
}

// isUUIDColumn reports whether the typed name means the row's own UUID.
func isUUIDColumn(typed string) bool { return fold(typed) == "_uuid" }

// rowID is a way to name a row: by column of its own table, or by column of a row that refers to it.
type rowID struct {
	table, column string // where the name is
	reference     string // column there that refers to the row; empty if it is the row itself
}

// rowIDs are the names that ovs-vsctl(8) knows, beside UUIDs, by table.
var rowIDs = map[string]rowID{
	"AutoAttach":                {"Bridge", "name", "auto_attach"},
	"Bridge":                    {"Bridge", "name", ""},
	"Controller":                {"Bridge", "name", "controller"},
	"Flow_Sample_Collector_Set": {"Flow_Sample_Collector_Set", "id", ""},
	"Flow_Table":                {"Flow_Table", "name", ""},
	"IPFIX":                     {"Bridge", "name", "ipfix"},
	"Interface":                 {"Interface", "name", ""},
	"Manager":                   {"Manager", "target", ""},
	"Mirror":                    {"Mirror", "name", ""},
	"NetFlow":                   {"Bridge", "name", "netflow"},
	"Port":                      {"Port", "name", ""},
	"QoS":                       {"Port", "name", "qos"},
	"sFlow":                     {"Bridge", "name", "sflow"},
}

// find returns the row that record names: a UUID or its beginning, "." for the only row, or a name. It returns nil if there is none and
// mustExist is false.
func (r *run) find(t *ovsdb.Table, record string, mustExist bool) (*row, error) {
	if id, err := ovsdb.ParseUUID(record); err == nil {
		if row := r.row(t, id); row != nil {
			return row, nil
		}
	}
	if record == "." {
		if rows := r.rows(t); len(rows) == 1 {
			return rows[0], nil
		}
	}
	found, err := r.byName(t, record)
	if found == nil && err == nil {
		found, err = r.byPartialUUID(t, record)
	}
	if found == nil && err == nil && mustExist {
		err = fmt.Errorf(`no row "%s" in table %s`, record, t.Name)
	}
	return found, err
}

// byName finds a row by the names of rowIDs.
func (r *run) byName(t *ovsdb.Table, record string) (*row, error) {
	id, ok := rowIDs[t.Name]
	if !ok || r.schema.Tables[id.table] == nil {
		return nil, nil
	}
	from := r.schema.Tables[id.table]
	name, reference := from.Column(id.column), from.Column(id.reference)
	if name == nil || (id.reference != "" && reference == nil) {
		return nil, nil
	}
	var holder *row
	for _, row := range r.rows(from) {
		if d := r.get(row, name); d.Len() != 1 || !nameIs(d.Key(0), record) {
			continue
		}
		if holder != nil {
			return nil, fmt.Errorf(`multiple rows in %s match "%s"`, id.table, record)
		}
		holder = row
	}
	if holder == nil || reference == nil {
		return holder, nil
	}
	r.verify(holder, reference)
	refs := r.get(holder, reference).UUIDs()
	if len(refs) != 1 {
		return nil, nil
	}
	return r.row(t, refs[0]), nil
}

// nameIs reports whether the name in the database is the one that was typed. A name that is a UUID may be abbreviated.
func nameIs(name ovsdb.Atom, typed string) bool {
	if name.String() == typed {
		return true
	}
	if name.Kind() == ovsdb.String && len(typed) >= 4 && strings.HasPrefix(name.Str(), typed) {
		_, err := ovsdb.ParseUUID(name.Str())
		return err == nil
	}
	return false
}

// byPartialUUID finds the row whose UUID begins with record, of at least four digits.
func (r *run) byPartialUUID(t *ovsdb.Table, record string) (*row, error) {
	if !isPartialUUID(record) {
		return nil, nil
	}
	var found *row
	for _, row := range r.rows(t) {
		if !strings.HasPrefix(row.id.String(), strings.ToLower(record)) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s contains 2 or more rows whose UUIDs begin with %s: at least %s and %s", t.Name, record, found.id, row.id)
		}
		found = row
	}
	return found, nil
}

func isPartialUUID(s string) bool {
	if len(s) < 4 || len(s) > 36 {
		return false
	}
	for i := range len(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if c := s[i]; dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
			return false
		}
	}
	return true
}
