package ovsdb

import (
	"fmt"
	"math"
)

// Unlimited is a column type's Max without bound.
const Unlimited = math.MaxUint32

// ColumnType says what a column holds: a set of Min to Max keys, or a map from
// Key to Value (RFC 7047 section 3.2, <type>).
type ColumnType struct {
	Key   BaseType
	Value *BaseType // nil for a set
	Min   int       // 0 or 1
	Max   int       // at least 1; Unlimited
}

func parseColumnType(v any) (ColumnType, error) {
	if _, ok := v.(string); ok {
		b, err := parseBaseType(v)
		return ColumnType{Key: b, Min: 1, Max: 1}, err
	}
	p, err := newParser(v, "ovsdb type")
	if err != nil {
		return ColumnType{}, err
	}
	t := ColumnType{}
	if key, ok := p.any("key", required); ok {
		if t.Key, err = parseBaseType(key); err != nil {
			return t, err
		}
	}
	if val, ok := p.any("value", optional); ok {
		b, err := parseBaseType(val)
		if err != nil {
			return t, err
		}
		t.Value = &b
	}
	t.Min = int(p.integer("min", 1))
	if max, ok := p.obj["max"].(string); ok && max == "unlimited" {
		p.used["max"] = true
		t.Max = Unlimited
	} else {
		t.Max = int(p.integer("max", 1))
	}
	if err := p.finish(); err != nil {
		return t, err
	}
	if t.Min < 0 || t.Min > 1 || t.Max < 1 || t.Max > Unlimited {
		return t, syntaxError(v, "", "ovsdb type fails constraint checks")
	}
	return t, nil
}

// IsMap reports whether the column holds a map.
func (t *ColumnType) IsMap() bool { return t.Value != nil }

// IsScalar reports whether the column holds exactly one atom.
func (t *ColumnType) IsScalar() bool { return t.Value == nil && t.Min == 1 && t.Max == 1 }

// IsOptional reports whether the column holds one atom or none.
func (t *ColumnType) IsOptional() bool { return t.Value == nil && t.Min == 0 && t.Max == 1 }

// Default is the value of a column that an insert does not mention.
func (t *ColumnType) Default() Datum {
	if t.Min == 0 {
		return Datum{}
	}
	d := Scalar(t.Key.defaultAtom())
	if t.Value != nil {
		d.values = []Atom{t.Value.defaultAtom()}
	}
	return d
}

// checkSize reports a wrong number of elements.
func (t *ColumnType) checkSize(n int) *Error {
	if n >= t.Min && n <= t.Max {
		return nil
	}
	if t.Min == 1 && t.Max == 1 {
		return newError("syntax error", "%s must have exactly one member but %d are present", t.className(), n)
	}
	return newError("syntax error", "%s must have %d to %d members but %d are present",
		t.className(), t.Min, t.Max, n)
}

func (t *ColumnType) className() string {
	if t.Value != nil {
		return "map"
	}
	return "set"
}

// Check reports whether d is a value of the type, as an *Error.
func (t *ColumnType) Check(d Datum) error {
	if e := t.checkSize(d.Len()); e != nil {
		return e
	}
	if (t.Value != nil) != (d.values != nil) && d.Len() > 0 {
		return newError("syntax error", "%s expected", t.className())
	}
	for i, k := range d.keys {
		if k.kind != t.Key.Kind {
			return newError("syntax error", "expected %s", t.Key.Kind)
		}
		if e := t.Key.check(k); e != nil {
			return e
		}
		if t.Value == nil {
			continue
		}
		if d.values[i].kind != t.Value.Kind {
			return newError("syntax error", "expected %s", t.Value.Kind)
		}
		if e := t.Value.check(d.values[i]); e != nil {
			return e
		}
	}
	return nil
}

// String describes the type as OVS does in messages.
func (t *ColumnType) String() string {
	if t.IsScalar() {
		return t.Key.Kind.String()
	}
	elements := t.Key.Kind.String() + "s"
	if t.Value != nil {
		elements = fmt.Sprintf("(%s, %s) pairs", t.Key.Kind, t.Value.Kind)
	}
	switch {
	case t.Max == Unlimited && t.Min == 0:
		return fmt.Sprintf("%s of %s", t.className(), elements)
	case t.Max == Unlimited:
		return fmt.Sprintf("%s of %d or more %s", t.className(), t.Min, elements)
	case t.Min == 0:
		return fmt.Sprintf("%s of up to %d %s", t.className(), t.Max, elements)
	default:
		return fmt.Sprintf("%s of %d to %d %s", t.className(), t.Min, t.Max, elements)
	}
}
