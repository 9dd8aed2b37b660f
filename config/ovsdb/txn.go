package ovsdb

import "slices"

// txn is a transaction under way: changed rows over the committed ones.
type txn struct {
	db      *DB
	changes map[target]*Change
	symbols map[string]*symbol
}

type symbol struct {
	id      UUID
	created bool
}

func newTxn(db *DB) *txn {
	return &txn{db: db, changes: make(map[target]*Change), symbols: make(map[string]*symbol)}
}

// Named implements Symbols. A name may be used before the insert that makes it.
func (tx *txn) Named(name string) UUID { return tx.symbol(name).id }

func (tx *txn) symbol(name string) *symbol {
	s := tx.symbols[name]
	if s == nil {
		s = &symbol{id: NewUUID()}
		tx.symbols[name] = s
	}
	return s
}

// row returns a row as this transaction sees it, nil if there is none.
func (tx *txn) row(to target) *Row {
	if c := tx.changes[to]; c != nil {
		return c.New
	}
	return tx.db.tables[to.table].rows[to.id]
}

// change returns the record of a row's change, making it if needed.
func (tx *txn) change(t *Table, id UUID) *Change {
	to := target{t, id}
	c := tx.changes[to]
	if c == nil {
		old := tx.db.tables[t].rows[id]
		c = &Change{Table: t, Old: old, New: old}
		tx.changes[to] = c
	}
	return c
}

// edit returns a row that may be changed.
func (tx *txn) edit(t *Table, id UUID) *Row {
	c := tx.change(t, id)
	if c.New == c.Old {
		c.New = c.Old.clone()
	}
	return c.New
}

// forEachRow calls f for every row of the table as the transaction sees it, in
// no order; f must not change rows.
func (tx *txn) forEachRow(t *Table, f func(*Row)) {
	for id, r := range tx.db.tables[t].rows {
		if tx.changes[target{t, id}] == nil {
			f(r)
		}
	}
	for to, c := range tx.changes {
		if to.table == t && c.New != nil {
			f(c.New)
		}
	}
}

// match returns the rows that all conditions hold for, in order of UUID.
func (tx *txn) match(t *Table, conds []Condition) []*Row {
	var rows []*Row
	if id, ok := onlyUUID(conds); ok {
		if r := tx.row(target{t, id}); r != nil && matchAll(conds, r) {
			rows = append(rows, r)
		}
		return rows
	}
	tx.forEachRow(t, func(r *Row) {
		if matchAll(conds, r) {
			rows = append(rows, r)
		}
	})
	slices.SortFunc(rows, func(a, b *Row) int { return a.UUID().Compare(b.UUID()) })
	return rows
}

// dropUnchanged forgets changes that come to nothing.
func (tx *txn) dropUnchanged() {
	for to, c := range tx.changes {
		switch {
		case c.Old == nil && c.New == nil,
			c.Old != nil && c.New != nil && c.Old.sameContent(c.New):
			delete(tx.changes, to)
		}
	}
}
