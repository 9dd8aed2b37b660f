package vsctl

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// maxRange is the largest number of integers that A-B may stand for.
const maxRange = 4096

// parseDatum reads a value of the given type as ovs-vsctl(8), "Database Values", describes it. names resolves @NAME; if it is nil, none is
// allowed.
func parseDatum(t *ovsdb.ColumnType, s string, names *symbols) (ovsdb.Datum, error) {
	open, end, empty := "[", "]", "set"
	if t.IsMap() {
		open, end, empty = "{", "}", "map"
	}
	rest := skipSpace(s)
	if rest == "" {
		return ovsdb.Datum{}, fmt.Errorf(`use "%s%s" to specify the empty %s`, open, end, empty)
	}
	rest, enclosed := strings.CutPrefix(rest, open)
	rest = skipSpace(rest)

	var pairs []ovsdb.Pair
	for rest != "" && (!enclosed || rest[0] != end[0]) {
		if strings.IndexByte(delimiters, rest[0]) >= 0 {
			return ovsdb.Datum{}, fmt.Errorf(`%s: unexpected "%c" parsing %s`, s, rest[0], t)
		}
		var more []ovsdb.Pair
		var err error
		if more, rest, err = parseElement(t, rest, names); err != nil {
			return ovsdb.Datum{}, err
		}
		pairs = append(pairs, more...)
		rest = skipSpace(strings.TrimPrefix(skipSpace(rest), ","))
	}
	if enclosed {
		if rest == "" {
			return ovsdb.Datum{}, fmt.Errorf(`%s: missing "%s" at end of data`, s, end)
		}
		if skipSpace(rest[1:]) != "" {
			return ovsdb.Datum{}, fmt.Errorf(`%s: trailing garbage after "%s"`, s, end)
		}
	}
	return collect(t, s, pairs)
}

// collect makes the datum of the elements that were found in s.
func collect(t *ovsdb.ColumnType, s string, pairs []ovsdb.Pair) (ovsdb.Datum, error) {
	unit, twice := "value(s)", "set contains duplicate value"
	if t.IsMap() {
		unit, twice = "pair(s)", "map contains duplicate key"
	}
	switch n := len(pairs); {
	case n < t.Min:
		return ovsdb.Datum{}, fmt.Errorf("%s: %d %s specified but the minimum number is %d", s, n, unit, t.Min)
	case n > t.Max:
		return ovsdb.Datum{}, fmt.Errorf("%s: %d %s specified but the maximum number is %d", s, n, unit, t.Max)
	}
	d := newDatum(t, pairs)
	if d.Len() != len(pairs) {
		return ovsdb.Datum{}, fmt.Errorf("%s: %s", s, twice)
	}
	return d, nil
}

// newDatum makes a set or a map of the pairs, as the type wants it.
func newDatum(t *ovsdb.ColumnType, pairs []ovsdb.Pair) ovsdb.Datum {
	if t.IsMap() {
		return ovsdb.NewMap(pairs...)
	}
	keys := make([]ovsdb.Atom, len(pairs))
	for i, p := range pairs {
		keys[i] = p.Key
	}
	return ovsdb.NewSet(keys...)
}

// parseElement takes one element off s: an atom, a range of integers, or KEY=VALUE.
func parseElement(t *ovsdb.ColumnType, s string, names *symbols) (pairs []ovsdb.Pair, rest string, err error) {
	tok, rest, err := token(s)
	if err != nil {
		return nil, "", err
	}
	var keys []ovsdb.Atom
	if t.Key.Kind == ovsdb.Integer {
		keys, err = parseRange(&t.Key, tok)
	} else {
		keys = make([]ovsdb.Atom, 1)
		keys[0], err = parseAtom(&t.Key, tok, names)
	}
	if err != nil {
		return nil, "", err
	}
	var value ovsdb.Atom
	if t.IsMap() {
		if rest = skipSpace(rest); !strings.HasPrefix(rest, "=") {
			return nil, "", fmt.Errorf(`%s: syntax error at "%s" expecting "="`, s, rest[:min(len(rest), 1)])
		}
		if tok, rest, err = token(skipSpace(rest[1:])); err != nil {
			return nil, "", err
		}
		if value, err = parseAtom(t.Value, tok, names); err != nil {
			return nil, "", err
		}
	}
	for _, k := range keys {
		pairs = append(pairs, ovsdb.Pair{Key: k, Value: value})
	}
	return pairs, rest, nil
}

// parseRange reads an integer or FIRST-LAST.
func parseRange(b *ovsdb.BaseType, s string) ([]ovsdb.Atom, error) {
	first, last, ok := cutRange(s)
	switch {
	case !ok:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf(`"%s" is not a valid integer or range`, s)
		}
		first, last = n, n
	case last < first:
		return nil, fmt.Errorf(`"%s" is not a valid range. Range end cannot be before start.`, s)
	case uint64(last)-uint64(first) >= maxRange:
		return nil, fmt.Errorf(`constraint violation: Range "%d-%d" is too big. Maximum allowed size is %d.`, first, last, maxRange)
	}
	var atoms []ovsdb.Atom
	for n := first; ; n++ {
		a := ovsdb.Int(n)
		if err := checkAtom(b, a); err != nil {
			return nil, err
		}
		atoms = append(atoms, a)
		if n == last {
			return atoms, nil
		}
	}
}

func cutRange(s string) (first, last int64, ok bool) {
	if s == "" {
		return 0, 0, false
	}
	dash := strings.IndexByte(s[1:], '-') + 1 // the first character may be a sign
	if dash == 0 {
		return 0, 0, false
	}
	first, err1 := strconv.ParseInt(s[:dash], 10, 64)
	last, err2 := strconv.ParseInt(s[dash+1:], 10, 64)
	return first, last, err1 == nil && err2 == nil
}

// parseAtom reads one atom and checks it against its type.
func parseAtom(b *ovsdb.BaseType, s string, names *symbols) (ovsdb.Atom, error) {
	a, err := readAtom(b, s, names)
	if err == nil {
		err = checkAtom(b, a)
	}
	return a, err
}

func readAtom(b *ovsdb.BaseType, s string, names *symbols) (ovsdb.Atom, error) {
	switch b.Kind {
	case ovsdb.Integer:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return ovsdb.Atom{}, fmt.Errorf(`"%s" is not a valid integer or range`, s)
		}
		return ovsdb.Int(n), nil
	case ovsdb.Real:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return ovsdb.Atom{}, fmt.Errorf(`"%s" is not a valid real number`, s)
		}
		return ovsdb.Float(f), nil
	case ovsdb.Boolean:
		switch s {
		case "true", "yes", "on", "1":
			return ovsdb.Bool(true), nil
		case "false", "no", "off", "0":
			return ovsdb.Bool(false), nil
		}
		return ovsdb.Atom{}, fmt.Errorf(`"%s" is not a valid boolean (use "true" or "false")`, s)
	case ovsdb.String:
		text, err := unquote(s)
		if err == nil {
			err = checkText(text)
		}
		return ovsdb.Str(text), err
	default:
		if names != nil && strings.HasPrefix(s, "@") {
			return ovsdb.Ref(names.refer(s, b)), nil
		}
		id, err := ovsdb.ParseUUID(s)
		if err != nil {
			return ovsdb.Atom{}, fmt.Errorf(`"%s" is not a valid UUID`, s)
		}
		return ovsdb.Ref(id), nil
	}
}

// unquote returns the string that s stands for: s itself, or what it is as a JSON string if it begins with a quote.
func unquote(s string) (string, error) {
	switch {
	case s == "":
		return "", fmt.Errorf(`An empty string is not valid as input; use "" to represent the empty string`)
	case s[0] != '"':
		return s, nil
	case len(s) < 2 || s[len(s)-1] != '"':
		return "", fmt.Errorf("%s: missing quote at end of quoted string", s)
	}
	var text string
	if err := json.Unmarshal([]byte(s), &text); err != nil {
		return "", fmt.Errorf("%s: %w", s, err)
	}
	return text, nil
}

// checkText refuses what a string of OVSDB cannot be.
func checkText(s string) error {
	if strings.ContainsRune(s, 0) {
		return fmt.Errorf("%q: null bytes not supported in quoted strings", s)
	}
	if utf8.ValidString(s) {
		return nil
	}
	i := strings.IndexFunc(s, func(c rune) bool { return c == utf8.RuneError })
	return fmt.Errorf("constraint violation: not a valid UTF-8 string: invalid UTF-8 sequence %#x", s[i])
}

// checkAtom checks a against the constraints of its type.
func checkAtom(b *ovsdb.BaseType, a ovsdb.Atom) error {
	t := ovsdb.ColumnType{Key: *b, Min: 1, Max: 1}
	return t.Check(ovsdb.Scalar(a))
}

func skipSpace(s string) string { return strings.TrimLeft(s, " \t\n\v\f\r") }
