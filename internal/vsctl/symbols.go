package vsctl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// symbol is a row named with --id=@NAME or referred to as @NAME.
type symbol struct {
	id           ovsdb.UUID
	created      bool
	strong, weak bool // some column refers to it
}

// symbols are the @NAMEs of one run.
type symbols struct{ byName map[string]*symbol }

func newSymbols() *symbols { return &symbols{byName: make(map[string]*symbol)} }

// get returns the symbol and whether it is new.
func (s *symbols) get(name string) (sym *symbol, isNew bool) {
	if sym = s.byName[name]; sym != nil {
		return sym, false
	}
	sym = &symbol{id: ovsdb.NewUUID()}
	s.byName[name] = sym
	return sym, true
}

// refer returns the UUID for a reference of type b to the named row, which may be created later.
func (s *symbols) refer(name string, b *ovsdb.BaseType) ovsdb.UUID {
	sym, _ := s.get(name)
	if b.RefTable != "" {
		sym.strong = sym.strong || b.Strong
		sym.weak = sym.weak || !b.Strong
	}
	return sym.id
}

// create takes the name for a row.
func (s *symbols) create(name string) (sym *symbol, isNew bool, err error) {
	if !strings.HasPrefix(name, "@") {
		return nil, false, fmt.Errorf(`row id "%s" does not begin with "@"`, name)
	}
	sym, isNew = s.get(name)
	if sym.created {
		return nil, false, fmt.Errorf(`row id "%s" may only be specified on one --id option`, name)
	}
	sym.created = true
	return sym, isNew, nil
}

// check returns an error for a reference to nothing; it warns of rows that will be collected as garbage.
func (s *symbols) check(warn func(string)) error {
	names := make([]string, 0, len(s.byName))
	for n := range s.byName {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		switch sym := s.byName[n]; {
		case !sym.created:
			return fmt.Errorf(`row id "%s" is referenced but never created (e.g. with "-- --id=%s create ...")`, n, n)
		case sym.strong:
		case sym.weak:
			warn(fmt.Sprintf(`row id "%s" was created but only a weak reference to it was inserted, so it will not actually appear in the database`, n))
		default:
			warn(fmt.Sprintf(`row id "%s" was created but no reference to it was inserted, so it will not actually appear in the database`, n))
		}
	}
	return nil
}
