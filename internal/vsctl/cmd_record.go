package vsctl

import (
	"errors"
	"fmt"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// The commands that work on a record of any table, and get. The others' work is in cmd_set.go and cmd_create.go; list and find are in cmd_list.go.

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
