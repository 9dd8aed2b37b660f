package ovsdb

// Readers of a Datum for code that knows the column's type. An empty optional
// column reads as the zero value; has tells it from a value that is zero.

// Str returns the only string, "" if there is none.
func (d Datum) Str() string { return d.first().Str() }

// Int returns the only integer and whether there is one.
func (d Datum) Int() (v int64, has bool) { return d.first().Int(), len(d.keys) > 0 }

// Float returns the only real and whether there is one.
func (d Datum) Float() (v float64, has bool) { return d.first().Float(), len(d.keys) > 0 }

// Bool returns the only boolean and whether there is one.
func (d Datum) Bool() (v, has bool) { return d.first().Bool(), len(d.keys) > 0 }

// UUID returns the only reference and whether there is one.
func (d Datum) UUID() (v UUID, has bool) { return d.first().UUID(), len(d.keys) > 0 }

// UUIDs returns all references of a set.
func (d Datum) UUIDs() []UUID {
	ids := make([]UUID, len(d.keys))
	for i, k := range d.keys {
		ids[i] = k.UUID()
	}
	return ids
}

// Strings returns all elements of a set as text.
func (d Datum) Strings() []string {
	s := make([]string, len(d.keys))
	for i, k := range d.keys {
		s[i] = k.String()
	}
	return s
}

// Ints returns all integers of a set.
func (d Datum) Ints() []int64 {
	s := make([]int64, len(d.keys))
	for i, k := range d.keys {
		s[i] = k.Int()
	}
	return s
}

// StringMap returns a map, keys and values as text. It is never nil.
func (d Datum) StringMap() map[string]string {
	m := make(map[string]string, len(d.keys))
	for i, k := range d.keys {
		if i < len(d.values) {
			m[k.String()] = d.values[i].String()
		}
	}
	return m
}

// MapValue returns the value of a string key in a map, as text, and "" if it
// is not there.
func (d Datum) MapValue(key string) (string, bool) {
	v, ok := d.Get(Str(key))
	if !ok {
		return "", false
	}
	return v.String(), true
}

func (d Datum) first() Atom {
	if len(d.keys) == 0 {
		return Atom{kind: 255} // no kind: every reader gives its zero value
	}
	return d.keys[0]
}
