package ovsdb

import (
	"encoding/json"
	"slices"
	"strings"
)

// Symbols resolves ["named-uuid", name] while a transaction is parsed.
type Symbols interface{ Named(name string) UUID }

// Parse reads a <value> (RFC 7047 section 5.1) of generic JSON, as DecodeJSON
// gives it, and checks it against the type. A nil sym allows no named UUIDs.
// Errors are *Error.
func (t *ColumnType) Parse(v any, sym Symbols) (Datum, error) {
	d, err := t.parseUnchecked(v, sym)
	if err != nil {
		return Datum{}, err
	}
	if err := t.checkAtoms(d); err != nil {
		return Datum{}, err
	}
	return d, nil
}

// ParseDiff reads a difference (see Diff): it may have any number of elements
// and break the type's constraints. Errors are *Error.
func (t *ColumnType) ParseDiff(v any) (Datum, error) {
	loose := *t
	loose.Min, loose.Max = 0, Unlimited
	return loose.parseUnchecked(v, nil)
}

func (t *ColumnType) parseUnchecked(v any, sym Symbols) (Datum, error) {
	if t.Value != nil {
		return t.parseMap(v, sym)
	}
	list, isSet := unwrap(v, "set")
	if !isSet {
		a, err := parseAtom(t.Key.Kind, v, sym)
		if err != nil {
			return Datum{}, err
		}
		return Scalar(a), nil
	}
	if e := t.checkSize(len(list)); e != nil {
		e.Syntax = Canonical(v)
		return Datum{}, e
	}
	d := Datum{keys: make([]Atom, len(list))}
	for i, item := range list {
		a, err := parseAtom(t.Key.Kind, item, sym)
		if err != nil {
			return Datum{}, err
		}
		d.keys[i] = a
	}
	slices.SortFunc(d.keys, Atom.Compare)
	if len(slices.Compact(slices.Clone(d.keys))) != len(d.keys) {
		return Datum{}, newError("ovsdb error", "set contains duplicate")
	}
	return d, nil
}

func (t *ColumnType) parseMap(v any, sym Symbols) (Datum, error) {
	list, ok := unwrap(v, "map")
	if !ok {
		return Datum{}, syntaxError(v, "", "expected [\"map\", <array>]")
	}
	if e := t.checkSize(len(list)); e != nil {
		e.Syntax = Canonical(v)
		return Datum{}, e
	}
	pairs := make([]Pair, len(list))
	for i, item := range list {
		kv, ok := item.([]any)
		if !ok || len(kv) != 2 {
			return Datum{}, syntaxError(item, "", "expected 2-element array")
		}
		var err error
		if pairs[i].Key, err = parseAtom(t.Key.Kind, kv[0], sym); err != nil {
			return Datum{}, err
		}
		if pairs[i].Value, err = parseAtom(t.Value.Kind, kv[1], sym); err != nil {
			return Datum{}, err
		}
	}
	d := NewMap(pairs...)
	if d.Len() != len(list) {
		return Datum{}, newError("ovsdb error", "map contains duplicate key")
	}
	return d, nil
}

func (t *ColumnType) checkAtoms(d Datum) error {
	for i, k := range d.keys {
		if e := t.Key.check(k); e != nil {
			return e
		}
		if t.Value != nil {
			if e := t.Value.check(d.values[i]); e != nil {
				return e
			}
		}
	}
	return nil
}

// unwrap takes [tag, array] apart.
func unwrap(v any, tag string) ([]any, bool) {
	outer, ok := v.([]any)
	if !ok || len(outer) != 2 || outer[0] != tag {
		return nil, false
	}
	list, ok := outer[1].([]any)
	return list, ok
}

func parseAtom(k Kind, v any, sym Symbols) (Atom, error) {
	switch k {
	case Integer:
		if n, ok := asInteger(v); ok {
			return Int(n), nil
		}
	case Real:
		if n, ok := asReal(v); ok {
			return Float(n), nil
		}
	case Boolean:
		if b, ok := v.(bool); ok {
			return Bool(b), nil
		}
	case String:
		if s, ok := v.(string); ok {
			if strings.ContainsRune(s, 0) {
				return Atom{}, syntaxError(v, "", "a string may not contain a null character")
			}
			return Str(s), nil
		}
	case UUIDKind:
		return parseUUIDAtom(v, sym)
	}
	return Atom{}, syntaxError(v, "", "expected %s", k)
}

func parseUUIDAtom(v any, sym Symbols) (Atom, error) {
	pair, _ := v.([]any)
	if len(pair) == 2 {
		text, isText := pair[1].(string)
		switch {
		case isText && pair[0] == "uuid":
			id, err := ParseUUID(text)
			if err != nil {
				return Atom{}, syntaxError(v, "", "\"%s\" is not a valid UUID", text)
			}
			return Ref(id), nil
		case isText && pair[0] == "named-uuid" && sym != nil:
			if !IsID(text) {
				return Atom{}, syntaxError(v, "", "named-uuid string is not a valid <id>")
			}
			return Ref(sym.Named(text)), nil
		}
	}
	return Atom{}, syntaxError(v, "", "expected [\"uuid\", <string>]")
}

// IsID reports whether s is an <id>: a letter or underscore, then letters,
// digits and underscores.
func IsID(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// JSON gives the atom's wire form as a value for encoding/json.
func (a Atom) JSON() any {
	switch a.kind {
	case Integer:
		return a.Int()
	case Real:
		return a.Float()
	case Boolean:
		return a.Bool()
	case String:
		return a.str
	default:
		return [2]string{"uuid", a.id.String()}
	}
}

// MarshalJSON gives the wire form.
func (a Atom) MarshalJSON() ([]byte, error) { return EncodeJSON(a.JSON()) }

// JSON gives the wire form of the datum as a value of type t; the type decides
// between an empty set and an empty map.
func (t *ColumnType) JSON(d Datum) any {
	if t.Value != nil {
		pairs := make([][2]any, len(d.keys))
		for i, k := range d.keys {
			pairs[i] = [2]any{k.JSON(), d.values[i].JSON()}
		}
		return [2]any{"map", pairs}
	}
	return d.JSON()
}

// JSON gives the wire form for a datum whose column type is not at hand: an
// empty one is the empty set, which a map column does not take.
func (d Datum) JSON() any {
	if d.values != nil {
		t := ColumnType{Value: &BaseType{}}
		return t.JSON(d)
	}
	if len(d.keys) == 1 {
		return d.keys[0].JSON()
	}
	atoms := make([]any, len(d.keys))
	for i, k := range d.keys {
		atoms[i] = k.JSON()
	}
	return [2]any{"set", atoms}
}

var _ json.Marshaler = Atom{}
