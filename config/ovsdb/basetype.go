package ovsdb

import (
	"math"
	"strings"
	"unicode/utf8"
)

// BaseType is an atomic type with its constraints (RFC 7047 section 3.2).
type BaseType struct {
	Kind     Kind
	Enum     *Datum // allowed values, or nil
	MinInt   int64
	MaxInt   int64
	MinReal  float64
	MaxReal  float64
	MinLen   int
	MaxLen   int
	RefTable string // table that a uuid refers to, or ""
	Strong   bool   // the reference keeps its row alive
}

func unconstrained(k Kind) BaseType {
	return BaseType{
		Kind: k, MinInt: math.MinInt64, MaxInt: math.MaxInt64,
		MinReal: -math.MaxFloat64, MaxReal: math.MaxFloat64, MaxLen: math.MaxInt,
	}
}

// defaultAtom is what RFC 7047 section 5.2.1 gives to columns not mentioned.
func (b *BaseType) defaultAtom() Atom { return Atom{kind: b.Kind} }

func parseBaseType(v any) (BaseType, error) {
	if name, ok := v.(string); ok {
		k, ok := kindFromName(name)
		if !ok {
			return BaseType{}, syntaxError(v, "", "%q is not an atomic-type", name)
		}
		return unconstrained(k), nil
	}
	p, err := newParser(v, "ovsdb type")
	if err != nil {
		return BaseType{}, err
	}
	name := p.str("type", required)
	k, ok := kindFromName(name)
	if p.err == nil && !ok {
		return BaseType{}, syntaxError(v, "", "%q is not an atomic-type", name)
	}
	b := unconstrained(k)
	if e, ok := p.any("enum", optional); ok && p.err == nil {
		plain := ColumnType{Key: unconstrained(k), Min: 1, Max: Unlimited}
		d, err := plain.Parse(e, nil)
		if err != nil {
			return BaseType{}, err
		}
		b.Enum = &d
	}
	switch k {
	case Integer:
		b.MinInt, b.MaxInt = p.integer("minInteger", b.MinInt), p.integer("maxInteger", b.MaxInt)
	case Real:
		b.MinReal, b.MaxReal = p.real("minReal", b.MinReal), p.real("maxReal", b.MaxReal)
	case String:
		b.MinLen = int(p.integer("minLength", 0))
		b.MaxLen = int(p.integer("maxLength", math.MaxInt))
	case UUIDKind:
		b.RefTable = p.str("refTable", optional)
		ref := p.str("refType", optional)
		if ref != "" && ref != "strong" && ref != "weak" {
			return BaseType{}, syntaxError(v, "", "refType must be \"strong\" or \"weak\"")
		}
		b.Strong = b.RefTable != "" && ref != "weak"
	}
	if b.MinInt > b.MaxInt || b.MinReal > b.MaxReal || b.MinLen > b.MaxLen || b.MinLen < 0 {
		return BaseType{}, syntaxError(v, "", "minimum exceeds maximum")
	}
	return b, p.finish()
}

// check reports the constraint that a breaks.
func (b *BaseType) check(a Atom) *Error {
	if b.Enum != nil {
		if b.Enum.Has(a) {
			return nil
		}
		return violation("%s is not one of the allowed values ([%s])", bare(a), b.Enum.bareList())
	}
	switch b.Kind {
	case Integer:
		return checkRange(a.Int(), b.MinInt, b.MaxInt, math.MinInt64, math.MaxInt64, a)
	case Real:
		return checkRange(a.Float(), b.MinReal, b.MaxReal, -math.MaxFloat64, math.MaxFloat64, a)
	case String:
		return b.checkString(a.str)
	default:
		return nil
	}
}

func checkRange[T int64 | float64](v, lo, hi, lowest, highest T, a Atom) *Error {
	switch {
	case v >= lo && v <= hi:
		return nil
	case lo != lowest && hi != highest:
		return violation("%s is not in the valid range %s to %s (inclusive)", a, number(lo), number(hi))
	case v < lo:
		return violation("%s is less than minimum allowed value %s", a, number(lo))
	default:
		return violation("%s is greater than maximum allowed value %s", a, number(hi))
	}
}

func number[T int64 | float64](v T) string {
	if i, ok := any(v).(int64); ok {
		return Int(i).String()
	}
	return Float(float64(v)).String()
}

func (b *BaseType) checkString(s string) *Error {
	n := utf8.RuneCountInString(s)
	if n < b.MinLen {
		return violation("\"%s\" length %d is less than minimum allowed length %d", s, n, b.MinLen)
	}
	if n > b.MaxLen {
		return violation("\"%s\" length %d is greater than maximum allowed length %d", s, n, b.MaxLen)
	}
	return nil
}

// bare is an atom as OVS writes it in messages: a string is quoted unless it
// is a plain word that cannot be taken for something else.
func bare(a Atom) string {
	if a.kind != String {
		return a.String()
	}
	s := a.str
	plain := s != "" && s != "true" && s != "false"
	for i, c := range []byte(s) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '-' && c != '.' && (c < '0' || c > '9')) {
			plain = false
		}
	}
	if _, err := ParseUUID(s); err == nil {
		plain = false
	}
	if plain {
		return s
	}
	return Canonical(s)
}

func (d Datum) bareList() string {
	words := make([]string, len(d.keys))
	for i, k := range d.keys {
		words[i] = bare(k)
	}
	return strings.Join(words, ", ")
}
