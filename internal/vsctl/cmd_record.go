package vsctl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// The commands that work on any table: get, set, add, remove, clear, create, destroy, wait-until. list and find are in cmd_list.go.

func recordCommands() []*Syntax {
	ifExists := Option{Name: "--if-exists"}
	return []*Syntax{
		{
			Name: "get", Args: "TABLE RECORD [COLUMN[:KEY]]...", Brief: "print values of columns of a record",
			minArgs: 2, maxArgs: anyNumber, Options: []Option{ifExists, {"--id", valueOption}}, prepare: prepareGet, run: runGet,
		},
		{
			Name: "set", Args: "TABLE RECORD COLUMN[:KEY]=VALUE...", Brief: "set columns of a record",
			minArgs: 3, maxArgs: anyNumber, Options: []Option{ifExists}, prepare: prepareArguments(2), run: runSet,
		},
		{
			Name: "add", Args: "TABLE RECORD COLUMN [KEY=]VALUE...", Brief: "add values to a column of a record",
			minArgs: 4, maxArgs: anyNumber, Options: []Option{ifExists}, prepare: prepareColumn, run: runAdd,
		},
		{
			Name: "remove", Args: "TABLE RECORD COLUMN KEY|VALUE|KEY=VALUE...", Brief: "remove values from a column of a record",
			minArgs: 4, maxArgs: anyNumber, Options: []Option{ifExists}, prepare: prepareColumn, run: runRemove,
		},
		{
			Name: "clear", Args: "TABLE RECORD COLUMN...", Brief: "make columns of a record empty",
			minArgs: 3, maxArgs: anyNumber, Options: []Option{ifExists}, prepare: prepareClear, run: runClear,
		},
		{
			Name: "create", Args: "TABLE COLUMN[:KEY]=VALUE...", Brief: "create a record",
			minArgs: 2, maxArgs: anyNumber, Options: []Option{{"--id", valueOption}}, prepare: prepareCreate, run: runCreate,
		},
		{
			Name: "destroy", Args: "TABLE [RECORD]...", Brief: "delete records",
			minArgs: 1, maxArgs: anyNumber, Options: []Option{ifExists, {Name: "--all"}}, prepare: prepareTable, run: runDestroy,
		},
		{
			Name: "wait-until", Args: "TABLE RECORD [COLUMN[:KEY]=VALUE]...", Brief: "wait until a record is there and fulfils conditions",
			minArgs: 2, maxArgs: anyNumber, prepare: prepareArguments(2), run: runWaitUntil,
		},
		{
			Name: "comment", Args: "[ARG]...", Brief: "do nothing, but appear in the database's log",
			maxArgs: anyNumber,
		},
	}
}

func prepareTable(p *plan, c *Command) error {
	_, err := p.table(c.Args[0])
	return err
}

// prepareArguments is for commands whose arguments from the given one on begin with a column.
func prepareArguments(from int) func(*plan, *Command) error {
	return func(p *plan, c *Command) error {
		t, err := p.table(c.Args[0])
		for _, arg := range c.Args[min(from, len(c.Args)):] {
			if err == nil {
				err = p.argument(t, arg)
			}
		}
		return err
	}
}

func prepareColumn(p *plan, c *Command) error {
	t, err := p.table(c.Args[0])
	if err == nil {
		err = p.column(t, c.Args[2])
	}
	return err
}

func prepareClear(p *plan, c *Command) error {
	t, err := p.table(c.Args[0])
	for _, name := range c.Args[2:] {
		if err == nil {
			err = p.column(t, name)
		}
	}
	return err
}

func prepareGet(p *plan, c *Command) error {
	t, err := p.table(c.Args[0])
	for _, arg := range c.Args[2:] {
		if err == nil && !isUUIDColumn(arg) {
			err = p.argument(t, arg)
		}
	}
	return err
}

func prepareCreate(p *plan, c *Command) error {
	t, err := findTable(p.schema, c.Args[0])
	if err == nil && !c.has("--id") && !t.IsRoot {
		p.options.warn(fmt.Sprintf(`applying "create" command to table %s without --id option will have no effect`, t.Name))
	}
	return err
}

// tableAndRow finds what the first two arguments name. The row is nil if it is missing and --if-exists was given.
func (r *run) tableAndRow(c *Command) (*ovsdb.Table, *row, error) {
	t, err := findTable(r.schema, c.Args[0])
	if err != nil {
		return nil, nil, err
	}
	x, err := r.find(t, c.Args[1], !c.has("--if-exists"))
	return t, x, err
}

func runGet(r *run, c *Command) error {
	id, wantsID := c.options["--id"]
	if wantsID && c.has("--if-exists") {
		return errors.New("--if-exists and --id may not be specified together")
	}
	t, x, err := r.tableAndRow(c)
	if err != nil || x == nil {
		return err
	}
	if wantsID {
		sym, isNew, err := r.names.create(id)
		if err != nil {
			return err
		}
		if !isNew {
			return fmt.Errorf(`row id "%s" specified on "get" command was used before it was defined`, id)
		}
		sym.id, sym.strong = x.id, true // a row that is there needs no reference to stay
	}
	var values []any
	for _, arg := range c.Args[2:] {
		if isUUIDColumn(arg) {
			r.printf("%s\n", x.id)
			values = append(values, x.id.String())
			continue
		}
		v, err := r.getOne(t, x, c, arg)
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	if len(values) > 0 {
		r.out.value = values
	}
	return nil
}

// getOne prints COLUMN[:KEY] of x and returns its wire form.
func (r *run) getOne(t *ovsdb.Table, x *row, c *Command, arg string) (any, error) {
	a, err := splitReference(arg)
	if err != nil {
		return nil, err
	}
	col, err := findColumn(t, a.column)
	if err != nil {
		return nil, err
	}
	r.verify(x, col)
	d := r.get(x, col)
	if !a.hasKey {
		r.printf("%s\n", formatDatum(&col.Type, d))
		return datumJSON(&col.Type, d), nil
	}
	if !col.Type.IsMap() {
		return nil, fmt.Errorf("cannot specify key to get for non-map column %s", col.Name)
	}
	key, err := parseAtom(&col.Type.Key, a.key, r.names)
	if err != nil {
		return nil, err
	}
	v, ok := d.Get(key)
	switch {
	case ok:
		r.printf("%s\n", formatAtom(v))
		return v, nil
	case !c.has("--if-exists"):
		return nil, fmt.Errorf(`no key "%s" in %s record "%s" column %s`, a.key, t.Name, c.Args[1], col.Name)
	default:
		r.printf("\n")
		return nil, nil
	}
}

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

func runCreate(r *run, c *Command) error {
	t, err := findTable(r.schema, c.Args[0])
	if err != nil {
		return err
	}
	var id *ovsdb.UUID
	keep := false
	if name, ok := c.options["--id"]; ok {
		if chosen, err := ovsdb.ParseUUID(name); err == nil {
			id, keep = &chosen, true
		} else {
			sym, _, err := r.names.create(name)
			if err != nil {
				return err
			}
			sym.strong = sym.strong || t.IsRoot // rows of a root table stay without a reference
			id = &sym.id
		}
	}
	x := r.insert(t, id)
	x.keepID = keep
	for _, arg := range c.Args[1:] {
		if err := r.assign(x, arg); err != nil {
			return err
		}
	}
	r.out.created = x
	r.invalidate()
	return nil
}

func runDestroy(r *run, c *Command) error {
	t, err := findTable(r.schema, c.Args[0])
	if err != nil {
		return err
	}
	records := c.Args[1:]
	switch all := c.has("--all"); {
	case all && len(records) > 0:
		return errors.New("--all and records argument should not be specified together")
	case all && c.has("--if-exists"):
		return errors.New("--all and --if-exists should not be specified together")
	case !all && len(records) == 0:
		r.options.warn("either --all or records argument should be specified")
		return nil
	case all:
		for _, x := range r.rows(t) {
			r.remove(x)
		}
	}
	for _, record := range records {
		x, err := r.find(t, record, !c.has("--if-exists"))
		if err != nil {
			return err
		}
		if x != nil {
			r.remove(x)
		}
	}
	r.invalidate()
	return nil
}

func runWaitUntil(r *run, c *Command) error {
	t, err := findTable(r.schema, c.Args[0])
	if err != nil {
		return err
	}
	x, err := r.find(t, c.Args[1], false)
	if err != nil {
		return err
	}
	if x == nil {
		r.tryAgain = true
		return nil
	}
	for _, arg := range c.Args[2:] {
		ok, err := r.satisfies(x, arg)
		if err != nil {
			return err
		}
		if !ok {
			r.tryAgain = true
			return nil
		}
	}
	return nil
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
