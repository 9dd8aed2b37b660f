package vsctl

import "github.com/gvswitch/gvswitch/config/ovsdb"

// pairsOf returns d's elements; those of a set have no value.
func pairsOf(t *ovsdb.ColumnType, d ovsdb.Datum) []ovsdb.Pair {
	pairs := make([]ovsdb.Pair, d.Len())
	for i := range pairs {
		pairs[i].Key = d.Key(i)
		if t.IsMap() {
			pairs[i].Value = d.Value(i)
		}
	}
	return pairs
}

// union returns the elements of both; of two pairs with one key, a's.
func union(t *ovsdb.ColumnType, a, b ovsdb.Datum) ovsdb.Datum {
	return newDatum(t, append(pairsOf(t, a), pairsOf(t, b)...))
}

// subtract returns a without the elements of b. From a map, keys (b of a set type) take the pairs with those keys, pairs only those that
// are equal as a whole.
func subtract(t *ovsdb.ColumnType, a ovsdb.Datum, bType *ovsdb.ColumnType, b ovsdb.Datum) ovsdb.Datum {
	var left []ovsdb.Pair
	for _, p := range pairsOf(t, a) {
		gone := b.Has(p.Key)
		if gone && bType.IsMap() {
			v, _ := b.Get(p.Key)
			gone = v == p.Value
		}
		if !gone {
			left = append(left, p)
		}
	}
	return newDatum(t, left)
}

// includes reports whether every element of b is in a.
func includes(t *ovsdb.ColumnType, a, b ovsdb.Datum) bool {
	return count(t, a, b) == b.Len()
}

// count returns how many elements of b are in a.
func count(t *ovsdb.ColumnType, a, b ovsdb.Datum) int {
	n := 0
	for _, p := range pairsOf(t, b) {
		if !a.Has(p.Key) {
			continue
		}
		if t.IsMap() {
			if v, _ := a.Get(p.Key); v != p.Value {
				continue
			}
		}
		n++
	}
	return n
}
