package ovsdb

import (
	"math"
	"math/bits"
	"slices"
)

// mutation is one <mutation> (RFC 7047 section 5.1).
type mutation struct {
	column *Column
	op     string
	arg    Datum
}

func parseMutations(t *Table, v any, sym Symbols) ([]mutation, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, syntaxError(v, "", "array expected")
	}
	muts := make([]mutation, 0, len(list))
	for _, item := range list {
		m, err := parseMutation(t, item, sym)
		if err != nil {
			return nil, err
		}
		muts = append(muts, m)
	}
	return muts, nil
}

func parseMutation(t *Table, v any, sym Symbols) (mutation, error) {
	parts, ok := v.([]any)
	if !ok || len(parts) != 3 {
		return mutation{}, syntaxError(v, "", "Parse error in mutation.")
	}
	name, ok1 := parts[0].(string)
	op, ok2 := parts[1].(string)
	if !ok1 || !ok2 {
		return mutation{}, syntaxError(v, "", "Parse error in mutation.")
	}
	c := t.Column(name)
	if c == nil {
		return mutation{}, syntaxError(v, "unknown column", "No column %s in table %s.", name, t.Name)
	}
	if !c.Mutable || c.Index <= colVersion {
		return mutation{}, syntaxError(v, "constraint violation", "Cannot mutate immutable column %s in table %s.", name, t.Name)
	}
	m := mutation{column: c, op: op}
	var err error
	switch op {
	case "+=", "-=", "*=", "/=", "%=":
		m.arg, err = parseOperand(c, op, v, parts[2])
	case "insert", "delete":
		m.arg, err = parseElements(c, op, v, parts[2], sym)
	default:
		err = newError("unknown mutator", "No mutator named %s.", op)
	}
	return m, err
}

func mutatorMismatch(c *Column, op string, v any) error {
	return syntaxError(v, "", "Type mismatch: \"%s\" operator may not be applied to column %s of type %s.",
		op, c.Name, &c.Type)
}

func parseOperand(c *Column, op string, whole, v any) (Datum, error) {
	k := c.Type.Key.Kind
	if c.Type.IsMap() || k != Integer && (k != Real || op == "%=") {
		return Datum{}, mutatorMismatch(c, op, whole)
	}
	scalar := ColumnType{Key: unconstrained(k), Min: 1, Max: 1}
	return scalar.Parse(v, nil)
}

func parseElements(c *Column, op string, whole, v any, sym Symbols) (Datum, error) {
	t := c.Type
	if t.IsScalar() {
		return Datum{}, mutatorMismatch(c, op, whole)
	}
	t.Min = 0
	if op == "insert" {
		return t.Parse(v, sym)
	}
	t.Max = Unlimited
	d, err := t.Parse(v, sym)
	if err != nil && t.IsMap() {
		t.Value = nil // keys alone
		d, err = t.Parse(v, sym)
	}
	return d, err
}

// apply returns the column's value after the mutation, or an *Error.
func (m *mutation) apply(d Datum) (Datum, error) {
	t := &m.column.Type
	switch m.op {
	case "insert":
		d = d.union(m.arg)
	case "delete":
		d = d.subtract(m.arg)
	default:
		return m.arithmetic(d)
	}
	if t.checkSize(d.Len()) != nil {
		return d, violation("Attempted to store %d elements in %s.", d.Len(), t)
	}
	return d, nil
}

func (m *mutation) arithmetic(d Datum) (Datum, error) {
	keys := slices.Clone(d.keys)
	for i, k := range keys {
		var e *Error
		if k.kind == Integer {
			keys[i], e = integerArithmetic(k.Int(), m.arg.keys[0].Int(), m.op)
		} else {
			keys[i], e = realArithmetic(k.Float(), m.arg.keys[0].Float(), m.op)
		}
		if e == nil {
			e = m.column.Type.Key.check(keys[i])
		}
		if e != nil {
			return d, e
		}
	}
	out := NewSet(keys...)
	if out.Len() != len(keys) {
		return d, violation("Result of \"%s\" operation contains duplicates.", m.op)
	}
	return out, nil
}

func outOfRange(op string) *Error {
	return newError("range error", "Result of \"%s\" operation is out of range.", op)
}

func divisionByZero() *Error { return newError("domain error", "Division by zero.") }

func integerArithmetic(x, y int64, op string) (Atom, *Error) {
	switch op {
	case "+=":
		if s := x + y; (s > x) == (y > 0) {
			return Int(s), nil
		}
	case "-=":
		if s := x - y; (s < x) == (y > 0) {
			return Int(s), nil
		}
	case "*=":
		if p, ok := multiply(x, y); ok {
			return Int(p), nil
		}
	default:
		if y == 0 {
			return Atom{}, divisionByZero()
		}
		if x == math.MinInt64 && y == -1 {
			if op == "%=" {
				return Int(0), nil
			}
			break
		}
		if op == "/=" {
			return Int(x / y), nil
		}
		return Int(x % y), nil
	}
	return Atom{}, outOfRange(op)
}

func multiply(x, y int64) (int64, bool) {
	negative := (x < 0) != (y < 0)
	hi, lo := bits.Mul64(magnitude(x), magnitude(y))
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	if hi != 0 || lo > limit {
		return 0, false
	}
	if negative {
		return int64(-lo), true
	}
	return int64(lo), true
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return uint64(-x) // right for the most negative one too
	}
	return uint64(x)
}

func realArithmetic(x, y float64, op string) (Atom, *Error) {
	var r float64
	switch op {
	case "+=":
		r = x + y
	case "-=":
		r = x - y
	case "*=":
		r = x * y
	default:
		if y == 0 {
			return Atom{}, divisionByZero()
		}
		r = x / y
	}
	if math.IsInf(r, 0) || math.IsNaN(r) {
		return Atom{}, outOfRange(op)
	}
	return Float(r), nil
}
