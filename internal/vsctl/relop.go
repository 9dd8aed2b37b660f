package vsctl

import (
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// relops are the operators of find and wait-until.
var relops = []string{"=", "!=", "<", ">", "<=", ">=", "{=}", "{!=}", "{<}", "{>}", "{<=}", "{>=}", "{in}", "{not-in}"}

// compare applies an operator to two values of one type.
func compare(t *ovsdb.ColumnType, a ovsdb.Datum, operator string, b ovsdb.Datum) bool {
	switch operator {
	case "=", "{=}":
		return a.Compare(b) == 0
	case "!=", "{!=}":
		return a.Compare(b) != 0
	case "<":
		return a.Compare(b) < 0
	case ">":
		return a.Compare(b) > 0
	case "<=":
		return a.Compare(b) <= 0
	case ">=":
		return a.Compare(b) >= 0
	case "{<}":
		return b.Len() > a.Len() && includes(t, b, a)
	case "{>}":
		return a.Len() > b.Len() && includes(t, a, b)
	case "{<=}", "{in}":
		return includes(t, b, a)
	case "{>=}":
		return includes(t, a, b)
	default: // "{not-in}"
		return count(t, b, a) == 0
	}
}

// satisfies reports whether row fulfils the condition COLUMN[:KEY]OPERATOR VALUE.
func (r *run) satisfies(row *row, arg string) (bool, error) {
	a, err := splitAssignment(arg, relops)
	if err != nil {
		return false, err
	}
	col, err := findColumn(row.table, a.column)
	if err != nil {
		return false, err
	}
	have, t := r.get(row, col), col.Type
	if a.hasKey {
		if !col.Type.IsMap() {
			return false, fmt.Errorf("cannot specify key to check for non-map column %s", col.Name)
		}
		key, err := parseAtom(&col.Type.Key, a.key, r.names)
		if err != nil {
			return false, err
		}
		value, found := have.Get(key)
		have, t = ovsdb.Datum{}, ovsdb.ColumnType{Key: *col.Type.Value, Min: col.Type.Min, Max: ovsdb.Unlimited}
		if found {
			have = ovsdb.Scalar(value)
		} else if !strings.HasPrefix(a.operator, "{") {
			// The arithmetic operators leave out records that lack the key; still, a value that cannot be is an error.
			_, err := parseDatum(&t, a.value, r.names)
			return false, err
		}
	}
	want, err := parseDatum(&t, a.value, r.names)
	if err != nil {
		return false, err
	}
	return compare(&t, have, a.operator, want), nil
}
