package ovsdb

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// Datum is the value of a column: a set of atoms (a scalar is a set of one) or
// a map between atoms. It never changes once made. The zero Datum is the empty
// set and the empty map.
type Datum struct {
	keys   []Atom // sorted, without duplicates
	values []Atom // nil for a set, else as long as keys
}

// Pair is one element of a map.
type Pair struct{ Key, Value Atom }

// Scalar makes a set of one atom.
func Scalar(a Atom) Datum { return Datum{keys: []Atom{a}} }

// NewSet makes a set; duplicates are dropped.
func NewSet(atoms ...Atom) Datum {
	keys := slices.Clone(atoms)
	slices.SortFunc(keys, Atom.Compare)
	return Datum{keys: slices.Compact(keys)}
}

// NewMap makes a map; of pairs with one key the first stays.
func NewMap(pairs ...Pair) Datum {
	p := slices.Clone(pairs)
	slices.SortStableFunc(p, func(a, b Pair) int { return a.Key.Compare(b.Key) })
	p = slices.CompactFunc(p, func(a, b Pair) bool { return a.Key == b.Key })
	d := Datum{keys: make([]Atom, len(p)), values: make([]Atom, len(p))}
	for i, e := range p {
		d.keys[i], d.values[i] = e.Key, e.Value
	}
	return d
}

// StringMap makes a map from string to string.
func StringMap(m map[string]string) Datum {
	pairs := make([]Pair, 0, len(m))
	for k, v := range m {
		pairs = append(pairs, Pair{Str(k), Str(v)})
	}
	return NewMap(pairs...)
}

// StringSet makes a set of strings.
func StringSet(s ...string) Datum {
	atoms := make([]Atom, len(s))
	for i, v := range s {
		atoms[i] = Str(v)
	}
	return NewSet(atoms...)
}

// UUIDSet makes a set of row references.
func UUIDSet(ids ...UUID) Datum {
	atoms := make([]Atom, len(ids))
	for i, v := range ids {
		atoms[i] = Ref(v)
	}
	return NewSet(atoms...)
}

// Len returns the number of elements.
func (d Datum) Len() int { return len(d.keys) }

// Key returns element i, or the key of pair i of a map; keys are in order.
func (d Datum) Key(i int) Atom { return d.keys[i] }

// Value returns the value of pair i of a map.
func (d Datum) Value(i int) Atom { return d.values[i] }

// find returns where key is or belongs.
func (d Datum) find(key Atom) (int, bool) {
	i := sort.Search(len(d.keys), func(i int) bool { return d.keys[i].Compare(key) >= 0 })
	return i, i < len(d.keys) && d.keys[i] == key
}

// Has reports whether key is an element of a set or a key of a map.
func (d Datum) Has(key Atom) bool { _, ok := d.find(key); return ok }

// Get returns the value of key in a map.
func (d Datum) Get(key Atom) (Atom, bool) {
	i, ok := d.find(key)
	if !ok || i >= len(d.values) {
		return Atom{}, false
	}
	return d.values[i], true
}

// Equal reports whether both have the same elements.
func (d Datum) Equal(e Datum) bool {
	return slices.Equal(d.keys, e.keys) && slices.Equal(d.values, e.values)
}

// Compare is a total order on datums of one type: first by size.
func (d Datum) Compare(e Datum) int {
	if c := cmp.Compare(len(d.keys), len(e.keys)); c != 0 {
		return c
	}
	if c := slices.CompareFunc(d.keys, e.keys, Atom.Compare); c != 0 {
		return c
	}
	return slices.CompareFunc(d.values, e.values, Atom.Compare)
}

// String is for people: elements separated by ", ", pairs as key=value.
func (d Datum) String() string {
	var b strings.Builder
	for i, k := range d.keys {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(k.String())
		if d.values != nil {
			b.WriteString("=" + d.values[i].String())
		}
	}
	return b.String()
}
