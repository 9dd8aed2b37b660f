package vsctl

import (
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// set, add, remove and clear: changes of columns of a record that is there.

func runSet(r *run, c *Command) error {
	_, x, err := r.tableAndRow(c)
	if err != nil || x == nil {
		return err
	}
	for _, arg := range c.Args[2:] {
		if err := r.assign(x, arg); err != nil {
			return err
		}
	}
	r.invalidate()
	return nil
}

// assign carries out COLUMN[:KEY]=VALUE on x.
func (r *run) assign(x *row, arg string) error { return r.blame(x, arg, r.assignPlain(x, arg)) }

// blame says on which record and with which argument err came about, which ovs-vsctl leaves to the user to find out.
func (r *run) blame(x *row, arg string, err error) error {
	if err == nil || r.options.Compat {
		return err
	}
	subject := x.table.Name
	if name := r.str(x, "name"); name != "" {
		subject += " " + name
	}
	if strings.HasPrefix(err.Error(), arg+":") {
		return fmt.Errorf("%s: %w", subject, err)
	}
	return fmt.Errorf("%s: %s: %w", subject, arg, err)
}

func (r *run) assignPlain(x *row, arg string) error {
	a, err := splitAssignment(arg, []string{"="})
	if err != nil {
		return err
	}
	col, err := findColumn(x.table, a.column)
	if err != nil {
		return err
	}
	if err := mutable(x, col); err != nil {
		return err
	}
	if !a.hasKey {
		d, err := parseDatum(&col.Type, a.value, r.names)
		if err == nil {
			r.set(x, col, d)
		}
		return err
	}
	if !col.Type.IsMap() {
		return fmt.Errorf("cannot specify key to set for non-map column %s", col.Name)
	}
	key, err := parseAtom(&col.Type.Key, a.key, r.names)
	if err != nil {
		return err
	}
	value, err := parseAtom(col.Type.Value, a.value, r.names)
	if err != nil {
		return err
	}
	r.change(x, col.Name, ovsdb.NewSet(key), ovsdb.NewMap(ovsdb.Pair{Key: key, Value: value}))
	return nil
}

// mutable returns an error for a column that only an insert may set.
func mutable(x *row, c *ovsdb.Column) error {
	if c.Mutable || x.old == nil {
		return nil
	}
	return fmt.Errorf("cannot modify read-only column %s in table %s", c.Name, x.table.Name)
}

// columnForChange finds what add and remove work on; the row is nil if there is nothing to do.
func (r *run) columnForChange(c *Command) (*row, *ovsdb.Column, error) {
	t, err := findTable(r.schema, c.Args[0])
	if err != nil {
		return nil, nil, err
	}
	col, err := findColumn(t, c.Args[2])
	if err != nil {
		return nil, nil, err
	}
	x, err := r.find(t, c.Args[1], !c.has("--if-exists"))
	if err != nil || x == nil {
		return nil, nil, err
	}
	return x, col, mutable(x, col)
}

// elements is the type of the values that add and remove take for a column: one or more.
func elements(t ovsdb.ColumnType) ovsdb.ColumnType {
	t.Min, t.Max = 1, ovsdb.Unlimited
	return t
}

func unit(t *ovsdb.ColumnType) string {
	if t.IsMap() {
		return "pairs"
	}
	return "values"
}

func runAdd(r *run, c *Command) error {
	x, col, err := r.columnForChange(c)
	if err != nil || x == nil {
		return err
	}
	d := r.get(x, col)
	for _, arg := range c.Args[3:] {
		t := elements(col.Type)
		more, err := parseDatum(&t, arg, r.names)
		if err != nil {
			return r.blame(x, col.Name+" "+arg, err)
		}
		d = union(&col.Type, d, more)
	}
	if d.Len() > col.Type.Max {
		return fmt.Errorf(`"add" operation would put %d %s in column %s of table %s but the maximum number is %d`,
			d.Len(), unit(&col.Type), col.Name, x.table.Name, col.Type.Max)
	}
	r.verify(x, col)
	r.set(x, col, d)
	r.invalidate()
	return nil
}

func runRemove(r *run, c *Command) error {
	x, col, err := r.columnForChange(c)
	if err != nil || x == nil {
		return err
	}
	d := r.get(x, col)
	for _, arg := range c.Args[3:] {
		t := elements(col.Type)
		gone, err := parseDatum(&t, arg, r.names)
		if err != nil && t.IsMap() { // keys alone will do
			t.Value = nil
			gone, err = parseDatum(&t, arg, r.names)
		}
		if err != nil {
			return r.blame(x, col.Name+" "+arg, err)
		}
		d = subtract(&col.Type, d, &t, gone)
	}
	if d.Len() < col.Type.Min {
		return fmt.Errorf(`"remove" operation would put %d %s in column %s of table %s but the minimum number is %d`,
			d.Len(), unit(&col.Type), col.Name, x.table.Name, col.Type.Min)
	}
	r.verify(x, col)
	r.set(x, col, d)
	r.invalidate()
	return nil
}

func runClear(r *run, c *Command) error {
	t, x, err := r.tableAndRow(c)
	if err != nil || x == nil {
		return err
	}
	for _, name := range c.Args[2:] {
		col, err := findColumn(t, name)
		if err != nil {
			return err
		}
		if err := mutable(x, col); err != nil {
			return err
		}
		if col.Type.Min > 0 {
			return fmt.Errorf(`"clear" operation cannot be applied to column %s of table %s, which is not allowed to be empty`, col.Name, t.Name)
		}
		r.set(x, col, ovsdb.Datum{})
	}
	r.invalidate()
	return nil
}
