package vsctl

import (
	"errors"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// create, destroy and wait-until: records that come and go.

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
