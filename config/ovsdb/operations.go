package ovsdb

import (
	"fmt"
	"slices"
	"time"
)

// operationFuncs are the operations of RFC 7047 section 5.2. Each takes its
// members from the parser, calls finish, and only then acts.
var operationFuncs = map[string]struct {
	run    func(x *execution, p *parser) (any, error)
	writes bool
}{
	"insert":  {(*execution).insert, true},
	"select":  {(*execution).selectRows, false},
	"update":  {(*execution).update, true},
	"mutate":  {(*execution).mutate, true},
	"delete":  {(*execution).deleteRows, true},
	"wait":    {(*execution).wait, false},
	"commit":  {(*execution).commit, false},
	"abort":   {(*execution).abort, false},
	"comment": {(*execution).comment, false},
	"assert":  {(*execution).assert, false},
}

func (x *execution) operation(op any, i, n int) (any, error) {
	where := fmt.Sprintf("ovsdb operation %d of %d", i+1, n)
	p, err := newParser(op, where)
	if err != nil {
		return nil, newError("syntax error", "Parsing %s failed: Object expected.", where)
	}
	name := p.str("op", required)
	f, ok := operationFuncs[name]
	if !ok {
		p.fail("No operation \"%s\"", name)
		return nil, p.err
	}
	if f.writes && x.env.Reserved {
		return nil, newError("not allowed", "%s operation not allowed on table in reserved database %s",
			name, x.tx.db.schema.Name)
	}
	return f.run(x, p)
}

// maxWait bounds the timeout of a "wait" to what can be counted.
const maxWait = 365 * 24 * time.Hour

type count struct {
	Count int `json:"count"`
}

// table gives the table that the operation names.
func (x *execution) table(p *parser) *Table {
	name := p.str("table", required)
	t := x.tx.db.schema.Tables[name]
	if t == nil {
		p.fail("No table named %s.", name)
	}
	return t
}

// where gives the conditions; p.finish must have been called.
func (x *execution) where(t *Table, v []any) ([]Condition, error) {
	return ParseConditions(t, v, x.tx)
}

func (x *execution) insert(p *parser) (any, error) {
	t := x.table(p)
	uuidText, hasUUID := typed[string](p, "uuid", optional)
	name, hasName := typed[string](p, "uuid-name", optional)
	rowJSON, _ := typed[map[string]any](p, "row", required)
	if hasName && !IsID(name) {
		p.fail("Type mismatch for member 'uuid-name'.")
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	id := NewUUID()
	if hasUUID {
		var err error
		if id, err = ParseUUID(uuidText); err != nil {
			return nil, syntaxError(uuidText, "", "bad uuid")
		}
		if x.tx.row(target{t, id}) != nil || x.tx.deletedHere(target{t, id}) {
			return nil, syntaxError(uuidText, "duplicate uuid",
				"This UUID would duplicate a UUID already present within the table or deleted within the same transaction.")
		}
	}
	if hasName {
		s := x.tx.symbol(name)
		if s.created {
			return nil, syntaxError(name, "duplicate uuid-name",
				"This \"uuid-name\" appeared on an earlier \"insert\" operation.")
		}
		s.created = true
		if hasUUID {
			s.id = id
		}
		id = s.id
	}
	vals, err := parseRow(t, rowJSON, x.tx)
	if err != nil {
		return nil, err
	}
	r := newRow(t, id)
	for c, d := range vals {
		if c.Index > colVersion {
			r.set(c, d)
		}
	}
	x.tx.change(t, id).New = r
	return map[string]any{"uuid": Ref(id).JSON()}, nil
}

func (x *execution) selectRows(p *parser) (any, error) {
	t := x.table(p)
	where, _ := typed[[]any](p, "where", required)
	columnsJSON, hasColumns := typed[[]any](p, "columns", optional)
	if err := p.finish(); err != nil {
		return nil, err
	}
	conds, err := x.where(t, where)
	if err != nil {
		return nil, err
	}
	columns := t.Columns
	if hasColumns {
		if columns, err = parseColumnSet(t, columnsJSON); err != nil {
			return nil, err
		}
	}
	rows := distinct(x.tx.match(t, conds), columns)
	out := make([]any, len(rows))
	for i, r := range rows {
		out[i] = r.JSON(columns)
	}
	return map[string]any{"rows": out}, nil
}

// distinct keeps one of the rows that are alike in the columns.
func distinct(rows []*Row, columns []*Column) []*Row {
	seen := make(map[string]bool, len(rows))
	return slices.DeleteFunc(rows, func(r *Row) bool {
		k := indexKey(columns, r)
		dup := seen[k]
		seen[k] = true
		return dup
	})
}

func (x *execution) update(p *parser) (any, error) {
	t := x.table(p)
	where, _ := typed[[]any](p, "where", required)
	rowJSON, _ := typed[map[string]any](p, "row", required)
	if err := p.finish(); err != nil {
		return nil, err
	}
	vals, err := parseRow(t, rowJSON, x.tx)
	if err != nil {
		return nil, err
	}
	for c := range vals {
		if !c.Mutable || c.Index <= colVersion {
			return nil, syntaxError(p.json, "constraint violation",
				"Cannot update immutable column %s in table %s.", c.Name, t.Name)
		}
	}
	conds, err := x.where(t, where)
	if err != nil {
		return nil, err
	}
	rows := x.tx.match(t, conds)
	for _, r := range rows {
		e := x.tx.edit(t, r.UUID())
		for c, d := range vals {
			e.set(c, d)
		}
	}
	return count{len(rows)}, nil
}

func (x *execution) mutate(p *parser) (any, error) {
	t := x.table(p)
	where, _ := typed[[]any](p, "where", required)
	mutationsJSON, _ := typed[[]any](p, "mutations", required)
	if err := p.finish(); err != nil {
		return nil, err
	}
	muts, err := parseMutations(t, mutationsJSON, x.tx)
	if err != nil {
		return nil, err
	}
	conds, err := x.where(t, where)
	if err != nil {
		return nil, err
	}
	rows := x.tx.match(t, conds)
	for _, r := range rows {
		e := x.tx.edit(t, r.UUID())
		for i := range muts {
			d, err := muts[i].apply(e.Get(muts[i].column))
			if err != nil {
				return nil, err
			}
			e.set(muts[i].column, d)
		}
	}
	return count{len(rows)}, nil
}

func (x *execution) deleteRows(p *parser) (any, error) {
	t := x.table(p)
	where, _ := typed[[]any](p, "where", required)
	if err := p.finish(); err != nil {
		return nil, err
	}
	conds, err := x.where(t, where)
	if err != nil {
		return nil, err
	}
	rows := x.tx.match(t, conds)
	for _, r := range rows {
		x.tx.change(t, r.UUID()).New = nil
	}
	return count{len(rows)}, nil
}

// wait compares the rows that match, as a set, with those given.
func (x *execution) wait(p *parser) (any, error) {
	t := x.table(p)
	timeout := time.Duration(-1)
	if _, has := p.obj["timeout"]; has {
		ms := min(max(p.integer("timeout", 0), 0), maxWait.Milliseconds())
		timeout = time.Duration(ms) * time.Millisecond
	}
	where, _ := typed[[]any](p, "where", required)
	columnsJSON, hasColumns := typed[[]any](p, "columns", optional)
	until := p.str("until", required)
	rowsJSON, _ := typed[[]any](p, "rows", required)
	if until != "==" && until != "!=" {
		until = ""
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	if until == "" {
		return nil, syntaxError(p.obj["until"], "", "\"until\" must be \"==\" or \"!=\"")
	}
	conds, err := x.where(t, where)
	if err != nil {
		return nil, err
	}
	columns := t.Columns
	if hasColumns {
		if columns, err = parseColumnSet(t, columnsJSON); err != nil {
			return nil, err
		}
	}
	want := make(map[string]bool, len(rowsJSON))
	for _, v := range rowsJSON {
		vals, err := parseRow(t, v, x.tx)
		if err != nil {
			return nil, err
		}
		r := newRow(t, UUID{})
		for c, d := range vals {
			r.set(c, d)
		}
		want[indexKey(columns, r)] = true
	}
	equal := true
	got := distinct(x.tx.match(t, conds), columns)
	for _, r := range got {
		equal = equal && want[indexKey(columns, r)]
	}
	equal = equal && len(got) == len(want)
	if equal == (until == "==") {
		return struct{}{}, nil
	}
	if timeout >= 0 && x.env.Elapsed >= timeout {
		if x.env.Elapsed < time.Millisecond {
			return nil, newError("timed out", "\"where\" clause test failed")
		}
		return nil, newError("timed out", "\"wait\" timed out after %d ms", x.env.Elapsed.Milliseconds())
	}
	x.blocked, x.timeout = true, timeout
	return nil, nil
}

// commit accepts durable true and false alike: the store is always durable.
func (x *execution) commit(p *parser) (any, error) {
	typed[bool](p, "durable", required)
	return struct{}{}, p.finish()
}

func (x *execution) abort(p *parser) (any, error) {
	if err := p.finish(); err != nil {
		return nil, err
	}
	return nil, newError("aborted", "aborted by request")
}

func (x *execution) comment(p *parser) (any, error) {
	x.comments = append(x.comments, p.str("comment", required))
	return struct{}{}, p.finish()
}

func (x *execution) assert(p *parser) (any, error) {
	name := p.str("lock", required)
	if err := p.finish(); err != nil {
		return nil, err
	}
	if x.env.HasLock == nil || !x.env.HasLock(name) {
		return nil, newError("not owner", "Asserted lock %s not held.", name)
	}
	return struct{}{}, nil
}
