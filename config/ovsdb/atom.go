package ovsdb

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// Kind is the type of an atom (RFC 7047 section 3.2, <atomic-type>).
type Kind uint8

// The atomic types.
const (
	Integer Kind = iota
	Real
	Boolean
	String
	UUIDKind
)

var kindNames = [...]string{"integer", "real", "boolean", "string", "uuid"}

// String gives the name that schemas use.
func (k Kind) String() string { return kindNames[k] }

func kindFromName(name string) (Kind, bool) {
	for i, n := range kindNames {
		if n == name {
			return Kind(i), true
		}
	}
	return 0, false
}

// Atom is one value of an atomic type. Atoms are comparable with ==. The zero
// Atom is the integer 0.
type Atom struct {
	kind Kind
	num  uint64 // integer, bits of a real, 0 or 1
	str  string
	id   UUID
}

// Int makes an integer atom.
func Int(v int64) Atom { return Atom{kind: Integer, num: uint64(v)} }

// Float makes a real atom.
func Float(v float64) Atom {
	if v == 0 {
		v = 0 // minus zero equals zero
	}
	return Atom{kind: Real, num: math.Float64bits(v)}
}

// Bool makes a boolean atom.
func Bool(v bool) Atom {
	if v {
		return Atom{kind: Boolean, num: 1}
	}
	return Atom{kind: Boolean}
}

// Str makes a string atom.
func Str(v string) Atom { return Atom{kind: String, str: v} }

// Ref makes a uuid atom.
func Ref(v UUID) Atom { return Atom{kind: UUIDKind, id: v} }

// Kind returns the atom's type.
func (a Atom) Kind() Kind { return a.kind }

// Int returns an integer atom's value, 0 for another kind.
func (a Atom) Int() int64 {
	if a.kind != Integer {
		return 0
	}
	return int64(a.num)
}

// Float returns a real atom's value, 0 for another kind.
func (a Atom) Float() float64 {
	if a.kind != Real {
		return 0
	}
	return math.Float64frombits(a.num)
}

// Bool returns a boolean atom's value, false for another kind.
func (a Atom) Bool() bool { return a.kind == Boolean && a.num != 0 }

// Str returns a string atom's value, "" for another kind.
func (a Atom) Str() string { return a.str }

// UUID returns a uuid atom's value, zero for another kind.
func (a Atom) UUID() UUID { return a.id }

// Compare orders atoms of one kind; atoms of different kinds are ordered by
// kind.
func (a Atom) Compare(b Atom) int {
	if a.kind != b.kind {
		return cmp.Compare(a.kind, b.kind)
	}
	switch a.kind {
	case Integer:
		return cmp.Compare(int64(a.num), int64(b.num))
	case Real:
		return cmp.Compare(a.Float(), b.Float())
	case Boolean:
		return cmp.Compare(a.num, b.num)
	case String:
		return strings.Compare(a.str, b.str)
	default:
		return a.id.Compare(b.id)
	}
}

// String gives the value as a person would write it: a string without quotes.
func (a Atom) String() string {
	switch a.kind {
	case Integer:
		return strconv.FormatInt(int64(a.num), 10)
	case Real:
		return strconv.FormatFloat(a.Float(), 'g', -1, 64)
	case Boolean:
		return strconv.FormatBool(a.num != 0)
	case String:
		return a.str
	default:
		return a.id.String()
	}
}
