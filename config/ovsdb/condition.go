package ovsdb

// Condition is one clause of a "where" (RFC 7047 section 5.1, <condition>): a
// comparison, or a boolean.
type Condition struct {
	column *Column // nil: the clause is the constant
	truth  bool
	fn     string
	arg    Datum
}

var comparisons = map[string]bool{
	"==": true, "!=": true, "<": true, "<=": true, ">": true, ">=": true, "includes": true, "excludes": true,
}

// ParseConditions reads a "where" of generic JSON. A missing one (nil) and an
// empty array are always true. Errors are *Error.
func ParseConditions(t *Table, v any, sym Symbols) ([]Condition, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, syntaxError(v, "", "array expected")
	}
	conds := make([]Condition, 0, len(list))
	for _, item := range list {
		c, err := parseCondition(t, item, sym)
		if err != nil {
			return nil, err
		}
		conds = append(conds, c)
	}
	return conds, nil
}

func parseCondition(t *Table, v any, sym Symbols) (Condition, error) {
	if b, ok := v.(bool); ok {
		return Condition{truth: b}, nil
	}
	parts, ok := v.([]any)
	if !ok || len(parts) != 3 {
		return Condition{}, syntaxError(v, "", "Parse error in condition.")
	}
	name, ok1 := parts[0].(string)
	fn, ok2 := parts[1].(string)
	if !ok1 || !ok2 {
		return Condition{}, syntaxError(v, "", "Parse error in condition.")
	}
	c := t.Column(name)
	if c == nil {
		return Condition{}, syntaxError(v, "unknown column", "No column %s in table %s.", name, t.Name)
	}
	if !comparisons[fn] {
		return Condition{}, newError("unknown function", "No function named %s.", fn)
	}
	argType := c.Type
	switch fn {
	case "<", "<=", ">", ">=":
		numeric := argType.Key.Kind == Integer || argType.Key.Kind == Real
		if !numeric || !argType.IsScalar() && !argType.IsOptional() {
			return Condition{}, syntaxError(v, "",
				"Type mismatch: \"%s\" operator may not be applied to column %s of type %s.", fn, name, &argType)
		}
		argType.Min = 1
	case "includes":
		if !argType.IsScalar() {
			argType.Min = 0
		}
	case "excludes":
		if !argType.IsScalar() {
			argType.Min, argType.Max = 0, Unlimited
		}
	}
	arg, err := argType.Parse(parts[2], sym)
	if err != nil {
		return Condition{}, err
	}
	return Condition{column: c, fn: fn, arg: arg}, nil
}

// Match reports whether the row satisfies the clause.
func (c *Condition) Match(r *Row) bool {
	if c.column == nil {
		return c.truth
	}
	d := r.Get(c.column)
	switch c.fn {
	case "==":
		return d.Equal(c.arg)
	case "!=":
		return !d.Equal(c.arg)
	case "includes":
		return d.containsAll(c.arg)
	case "excludes":
		return d.containsNone(c.arg)
	}
	if d.Len() == 0 {
		return false // ovsdb-server(7) section 5.1
	}
	cmp := d.keys[0].Compare(c.arg.keys[0])
	switch c.fn {
	case "<":
		return cmp < 0
	case "<=":
		return cmp <= 0
	case ">":
		return cmp > 0
	default:
		return cmp >= 0
	}
}

func matchAll(conds []Condition, r *Row) bool {
	for i := range conds {
		if !conds[i].Match(r) {
			return false
		}
	}
	return true
}

// MatchAny is the rule of monitors (ovsdb-server(7) section 4.1.12): one
// clause that holds is enough, no clause at all means every row.
func MatchAny(conds []Condition, r *Row) bool {
	for i := range conds {
		if conds[i].Match(r) {
			return true
		}
	}
	return len(conds) == 0
}

// onlyUUID finds a clause that leaves at most one row.
func onlyUUID(conds []Condition) (UUID, bool) {
	for i := range conds {
		c := &conds[i]
		if c.column != nil && c.column.Index == colUUID && (c.fn == "==" || c.fn == "includes") {
			return c.arg.keys[0].id, true
		}
	}
	return UUID{}, false
}
