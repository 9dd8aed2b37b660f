package ovsdb

// The set operations of mutations (RFC 7047 section 5.1, <mutation>) and the
// difference that update2 carries (ovsdb-server(7) section 4.1.14). All give a
// new Datum.

// union adds e's elements to d; where both are maps and share a key, d's pair
// stays ("insert" does not overwrite).
func (d Datum) union(e Datum) Datum {
	out := Datum{}
	i, j := 0, 0
	for i < len(d.keys) || j < len(e.keys) {
		switch c := mergeOrder(d, e, i, j); {
		case c < 0:
			out.take(d, i)
			i++
		case c > 0:
			out.take(e, j)
			j++
		default:
			out.take(d, i)
			i, j = i+1, j+1
		}
	}
	return out
}

// subtract removes e's elements. From a map, a set removes the keys and a map
// removes the pairs that are equal as a whole.
func (d Datum) subtract(e Datum) Datum {
	out := Datum{}
	for i, k := range d.keys {
		if j, found := e.find(k); found {
			wholePair := d.values != nil && e.values != nil
			if !wholePair || d.values[i] == e.values[j] {
				continue
			}
		}
		out.take(d, i)
	}
	return out
}

// Diff returns what turns d into e: for a column of at most one element the new
// value (also the empty one), for sets the elements that only one has, for maps the pairs that differ, with e's value
// where both have the key.
func (t *ColumnType) Diff(d, e Datum) Datum {
	if t.Max == 1 {
		return e
	}
	out := Datum{}
	i, j := 0, 0
	for i < len(d.keys) || j < len(e.keys) {
		switch c := mergeOrder(d, e, i, j); {
		case c < 0:
			out.take(d, i)
			i++
		case c > 0:
			out.take(e, j)
			j++
		default:
			if d.values != nil && d.values[i] != e.values[j] {
				out.take(e, j)
			}
			i, j = i+1, j+1
		}
	}
	return out
}

// Apply is the inverse of Diff: it returns e, given d and the difference. What both
// have goes and what one has stays, either way, so it is the same operation.
func (t *ColumnType) Apply(d, diff Datum) Datum { return t.Diff(d, diff) }

// mergeOrder says which of d[i] and e[j] comes first in a merge; an exhausted
// side comes last.
func mergeOrder(d, e Datum, i, j int) int {
	switch {
	case i >= len(d.keys):
		return 1
	case j >= len(e.keys):
		return -1
	default:
		return d.keys[i].Compare(e.keys[j])
	}
}

func (d *Datum) take(from Datum, i int) {
	d.keys = append(d.keys, from.keys[i])
	if from.values != nil {
		d.values = append(d.values, from.values[i])
	}
}

// containsAll reports whether every element of e is in d (the function
// "includes"); pairs of maps must agree as a whole.
func (d Datum) containsAll(e Datum) bool {
	for j, k := range e.keys {
		i, ok := d.find(k)
		if !ok || (e.values != nil && d.values[i] != e.values[j]) {
			return false
		}
	}
	return true
}

// containsNone reports whether no element of e is in d ("excludes").
func (d Datum) containsNone(e Datum) bool {
	for j, k := range e.keys {
		if i, ok := d.find(k); ok && (e.values == nil || d.values[i] == e.values[j]) {
			return false
		}
	}
	return true
}
