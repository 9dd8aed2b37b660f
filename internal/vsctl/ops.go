package vsctl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// object is a JSON object on its way out.
type object = map[string]any

// transaction is a run as operations of RFC 7047, with what is needed to understand the reply.
type transaction struct {
	ops      []any
	inserts  map[int]*row // by index of the operation
	nextCfg  int          // index of the select that returns next_cfg, or -1
	changing bool         // some operation changes the database
}

// build turns what the commands wrote into operations. wait adds the increment of next_cfg that asks the switch for a sign when it is done.
func (r *run) build(wait bool) *transaction {
	t := &transaction{inserts: make(map[int]*row), nextCfg: -1}
	var rows []*row
	for _, name := range r.schema.TableNames() {
		for _, x := range r.touched[name] {
			rows = append(rows, x)
		}
	}
	slices.SortFunc(rows, func(a, b *row) int {
		if a.order != b.order {
			return a.order - b.order
		}
		return a.id.Compare(b.id)
	})
	for _, x := range rows {
		r.buildWait(t, x)
	}
	for _, x := range rows {
		switch {
		case x.deleted && x.old == nil: // came and went
		case x.deleted && (x.table.IsRoot || x.purge):
			t.add(object{"op": "delete", "table": x.table.Name, "where": whereID(x)})
		case x.deleted: // the database collects it
		case x.old == nil:
			r.buildInsert(t, x)
		default:
			r.buildUpdate(t, x)
		}
	}
	if r.fresh && len(rows) == 1 && len(r.ovs.written) == 0 && !r.options.Compat && !r.init {
		t.changing = false // to look at an empty database does not initialize it
	}
	if !t.changing {
		return t
	}
	if wait {
		r.buildIncrement(t)
	}
	if r.options.Program != "" {
		comment := strings.TrimSpace(r.options.Program + ": " + strings.Join(r.options.Args, " "))
		t.ops = append(t.ops, object{"op": "comment", "comment": comment})
	}
	if r.options.DryRun {
		t.ops = append(t.ops, object{"op": "abort"})
	}
	return t
}

// add appends an operation that changes something.
func (t *transaction) add(op object) {
	t.ops = append(t.ops, op)
	t.changing = true
}

// buildWait makes the transaction fail if columns that were verified have changed, or if a row that is written to has gone.
func (r *run) buildWait(t *transaction, x *row) {
	if x.old == nil || (len(x.verified) == 0 && (len(x.written) == 0 || x.deleted)) {
		return
	}
	columns := []string{"_uuid"}
	values := object{"_uuid": [2]string{"uuid", x.id.String()}}
	for _, c := range userColumns(x.table) {
		if !x.verified[c.Name] {
			continue
		}
		d, ok := x.old[c.Name]
		if !ok {
			d = c.Type.Default()
		}
		columns = append(columns, c.Name)
		values[c.Name] = c.Type.JSON(d)
	}
	t.ops = append(t.ops, object{
		"op": "wait", "table": x.table.Name, "timeout": 0, "where": whereID(x),
		"columns": columns, "until": "==", "rows": []any{values},
	})
}

func (r *run) buildInsert(t *transaction, x *row) {
	values := object{}
	for name, d := range x.written {
		c := x.table.Column(name)
		if !d.Equal(c.Type.Default()) {
			values[name] = r.json(&c.Type, d)
		}
	}
	t.inserts[len(t.ops)] = x
	op := object{"op": "insert", "table": x.table.Name, "row": values}
	if x.keepID {
		op["uuid"] = x.id.String()
	} else {
		op["uuid-name"] = rowName(x.id)
	}
	t.add(op)
}

func (r *run) buildUpdate(t *transaction, x *row) {
	values := object{}
	var mutations []any
	for _, c := range userColumns(x.table) {
		d, ok := x.written[c.Name]
		if !ok {
			continue
		}
		old, had := x.old[c.Name]
		if !had {
			old = c.Type.Default()
		}
		if old.Equal(d) {
			continue
		}
		p := x.partial[c.Name]
		if p == nil {
			values[c.Name] = r.json(&c.Type, d)
			continue
		}
		remove := p.remove
		if c.Type.IsMap() { // insert does not replace, so the old pair goes first
			keys := ovsdb.ColumnType{Key: c.Type.Key, Max: ovsdb.Unlimited}
			remove = union(&keys, remove, p.insert)
		}
		if remove.Len() > 0 {
			keys := ovsdb.ColumnType{Key: c.Type.Key, Max: ovsdb.Unlimited}
			mutations = append(mutations, []any{c.Name, "delete", r.setJSON(&keys, remove)})
		}
		if p.insert.Len() > 0 {
			mutations = append(mutations, []any{c.Name, "insert", r.json(&c.Type, p.insert)})
		}
	}
	if len(values) > 0 {
		t.add(object{"op": "update", "table": x.table.Name, "where": whereID(x), "row": values})
	}
	if len(mutations) > 0 {
		t.add(object{"op": "mutate", "table": x.table.Name, "where": whereID(x), "mutations": mutations})
	}
}

// buildIncrement adds one to next_cfg and reads it back.
func (r *run) buildIncrement(t *transaction) {
	where := whereID(r.ovs)
	if r.ovs.old == nil {
		where = []any{[]any{"_uuid", "==", [2]string{"named-uuid", rowName(r.ovs.id)}}}
	}
	t.add(object{"op": "mutate", "table": "Open_vSwitch", "where": where, "mutations": []any{[]any{"next_cfg", "+=", 1}}})
	t.nextCfg = len(t.ops)
	t.ops = append(t.ops, object{"op": "select", "table": "Open_vSwitch", "where": where, "columns": []string{"next_cfg"}})
}

func whereID(x *row) []any {
	return []any{[]any{"_uuid", "==", [2]string{"uuid", x.id.String()}}}
}

// rowName is the name of a row within the transaction that inserts it, an <id>.
func rowName(id ovsdb.UUID) string { return "row" + strings.ReplaceAll(id.String(), "-", "_") }

// json is the wire form of d, with references to rows of this run by name.
func (r *run) json(t *ovsdb.ColumnType, d ovsdb.Datum) any {
	if !t.IsMap() {
		return r.setJSON(t, d)
	}
	pairs := make([]any, d.Len())
	for i := range pairs {
		pairs[i] = [2]any{r.atomJSON(&t.Key, d.Key(i)), r.atomJSON(t.Value, d.Value(i))}
	}
	return [2]any{"map", pairs}
}

// setJSON is the wire form of d's keys.
func (r *run) setJSON(t *ovsdb.ColumnType, d ovsdb.Datum) any {
	atoms := make([]any, d.Len())
	for i := range atoms {
		atoms[i] = r.atomJSON(&t.Key, d.Key(i))
	}
	if len(atoms) == 1 {
		return atoms[0]
	}
	return [2]any{"set", atoms}
}

func (r *run) atomJSON(b *ovsdb.BaseType, a ovsdb.Atom) any {
	if a.Kind() == ovsdb.UUIDKind && b.RefTable != "" {
		if x := r.touched[b.RefTable][a.UUID()]; x != nil && x.old == nil && !x.keepID {
			return [2]string{"named-uuid", rowName(a.UUID())}
		}
	}
	return a.JSON()
}

// String is for test failures.
func (x *row) String() string { return fmt.Sprintf("%s %s", x.table.Name, x.id) }
