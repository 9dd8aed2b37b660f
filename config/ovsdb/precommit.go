package ovsdb

import (
	"slices"
	"strings"
)

// precommit does everything that happens at the end of a transaction: it
// checks references, deletes rows nobody refers to, clears weak references to
// rows that are gone, checks row counts and indexes, and gives changed rows a
// new version. It returns the changes, in a fixed order, or the *Error that
// makes the whole transaction fail.
func (tx *txn) precommit() ([]Change, error) {
	tx.dropUnchanged()
	counts, err := tx.countReferences()
	if err != nil {
		return nil, err
	}
	tx.collectGarbage(counts)
	if err := tx.checkMaxRows(); err != nil {
		return nil, err
	}
	if err := tx.purgeWeakReferences(); err != nil {
		return nil, err
	}
	tx.dropUnchanged()
	if err := tx.checkIndexes(); err != nil {
		return nil, err
	}
	changes := make([]Change, 0, len(tx.changes))
	for _, c := range tx.changes {
		if c.New != nil {
			c.New.cols[colVersion] = Scalar(Ref(NewUUID()))
		}
		changes = append(changes, *c)
	}
	slices.SortFunc(changes, func(a, b Change) int {
		if c := strings.Compare(a.Table.Name, b.Table.Name); c != 0 {
			return c
		}
		return a.UUID().Compare(b.UUID())
	})
	return changes, nil
}

// refCounts is how the strong counts differ from the committed ones.
type refCounts map[target]int

func (tx *txn) countReferences() (refCounts, error) {
	delta := make(refCounts)
	var bad *Error
	for to, c := range tx.changes {
		if c.Old != nil {
			tx.db.forEachRef(to.table, c.Old, func(ref target, strong bool, _ *Column) {
				if strong && ref != to {
					delta[ref]--
				}
			})
		}
		if c.New == nil {
			continue
		}
		tx.db.forEachRef(to.table, c.New, func(ref target, strong bool, col *Column) {
			if !strong || ref == to {
				return
			}
			delta[ref]++
			if bad == nil && tx.row(ref) == nil && !tx.deletedHere(ref) {
				bad = newError("referential integrity violation",
					"Table %s column %s row %s references nonexistent row %s in table %s.",
					to.table.Name, col.Name, to.id, ref.id, ref.table.Name)
			}
		})
	}
	if bad != nil {
		return nil, bad
	}
	for to, c := range tx.changes {
		if n := tx.db.strong[to] + delta[to]; c.New == nil && n > 0 {
			return nil, newError("referential integrity violation",
				"cannot delete %s row %s because of %d remaining reference(s)", to.table.Name, to.id, n)
		}
	}
	return delta, nil
}

func (tx *txn) deletedHere(to target) bool {
	c := tx.changes[to]
	return c != nil && c.Old != nil && c.New == nil
}

// collectGarbage deletes rows outside the root set that no strong reference
// leads to, and what hangs on them. Like ovsdb-server it counts references, so
// rows that refer to each other in a circle stay.
func (tx *txn) collectGarbage(delta refCounts) {
	var work []target
	for to, c := range tx.changes {
		if c.New != nil {
			work = append(work, to)
		}
	}
	for to, n := range delta {
		if n < 0 {
			work = append(work, to)
		}
	}
	for len(work) > 0 {
		to := work[len(work)-1]
		work = work[:len(work)-1]
		r := tx.row(to)
		if r == nil || to.table.IsRoot || tx.db.strong[to]+delta[to] > 0 {
			continue
		}
		tx.change(to.table, to.id).New = nil
		tx.db.forEachRef(to.table, r, func(ref target, strong bool, _ *Column) {
			if strong && ref != to {
				delta[ref]--
				work = append(work, ref)
			}
		})
	}
	for to, c := range tx.changes {
		if c.Old == nil && c.New == nil {
			delete(tx.changes, to)
		}
	}
}

func (tx *txn) checkMaxRows() error {
	more := make(map[*Table]int)
	for to, c := range tx.changes {
		switch {
		case c.Old == nil:
			more[to.table]++
		case c.New == nil:
			more[to.table]--
		}
	}
	for t, n := range more {
		if total := len(tx.db.tables[t].rows) + n; n > 0 && total > t.MaxRows {
			return violation("transaction causes \"%s\" table to contain %d rows, "+
				"greater than the schema-defined limit of %d row(s)", t.Name, total, t.MaxRows)
		}
	}
	return nil
}

// purgeWeakReferences clears weak references to rows that are not there.
func (tx *txn) purgeWeakReferences() error {
	sources := make(map[target]bool)
	for to, c := range tx.changes {
		if c.New != nil {
			sources[to] = true
			continue
		}
		for src := range tx.db.weak[to] {
			sources[src] = true
		}
	}
	for src := range sources {
		r := tx.row(src)
		if r == nil {
			continue
		}
		for _, c := range src.table.Columns[colVersion+1:] {
			d, dropped := tx.withoutDangling(c, r.Get(c))
			if dropped == 0 {
				continue
			}
			if d.Len() < c.Type.Min {
				inserted := ""
				if ch := tx.changes[src]; ch != nil && ch.Old == nil {
					inserted = " (inserted within this transaction)"
				}
				return violation("Deletion of %d weak reference(s) to deleted (or never-existing) rows from column "+
					"\"%s\" in \"%s\" row %s%s caused this column to become empty, but constraints on this column "+
					"disallow an empty column.", dropped, c.Name, src.table.Name, src.id, inserted)
			}
			tx.edit(src.table, src.id).set(c, d)
		}
	}
	return nil
}

func (tx *txn) withoutDangling(c *Column, d Datum) (Datum, int) {
	dangles := func(b *BaseType, a Atom) bool {
		return b != nil && b.RefTable != "" && !b.Strong &&
			tx.row(target{tx.db.schema.Tables[b.RefTable], a.id}) == nil
	}
	out, dropped := Datum{}, 0
	for i, k := range d.keys {
		if dangles(&c.Type.Key, k) || d.values != nil && dangles(c.Type.Value, d.values[i]) {
			dropped++
			continue
		}
		out.take(d, i)
	}
	if dropped == 0 {
		return d, 0
	}
	return out, dropped
}

func (tx *txn) checkIndexes() error {
	type place struct {
		table *Table
		index int
		key   string
	}
	seen := make(map[place]UUID)
	for to, c := range tx.changes {
		if c.New == nil {
			continue
		}
		for i, ix := range to.table.Indexes {
			key := indexKey(ix, c.New)
			other, taken := seen[place{to.table, i, key}]
			if !taken {
				seen[place{to.table, i, key}] = to.id
				if other, taken = tx.db.tables[to.table].indexes[i][key]; taken {
					// The committed holder counts unless it is this row or changed too
					// (then seen decides).
					taken = tx.changes[target{to.table, other}] == nil
				}
			}
			if taken {
				return tx.duplicateError(to, ix, other, c)
			}
		}
	}
	return nil
}

func (tx *txn) duplicateError(to target, ix []*Column, other UUID, c *Change) error {
	names := make([]string, len(ix))
	for i, col := range ix {
		names[i] = "\"" + col.Name + "\""
	}
	what := "index on column " + names[0]
	if len(ix) > 1 {
		what = "index on columns " + english(names)
	}
	describe := func(id UUID) string {
		switch ch := tx.changes[target{to.table, id}]; {
		case ch == nil:
			return "existed in the database before this transaction and was not modified by the transaction"
		case ch.Old == nil:
			return "was inserted by this transaction"
		case indexKey(ix, ch.Old) == indexKey(ix, ch.New):
			return "existed in the database before this transaction, which modified some of the row's columns " +
				"but not any columns in this index"
		default:
			return "had the following index values before the transaction: " + indexText(ix, ch.Old)
		}
	}
	return violation("Transaction causes multiple rows in \"%s\" table to have identical values (%s) for %s.  "+
		"First row, with UUID %s, %s.  Second row, with UUID %s, %s.",
		to.table.Name, indexText(ix, c.New), what, to.id, describe(to.id), other, describe(other))
}

func indexText(ix []*Column, r *Row) string {
	values := make([]string, len(ix))
	for i, col := range ix {
		d := r.Get(col)
		values[i] = d.bareList()
		if d.Len() != 1 {
			values[i] = "[" + values[i] + "]"
		}
	}
	return english(values)
}

// english joins words as "a", "a and b", "a, b and c".
func english(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
