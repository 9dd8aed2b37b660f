package desired

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// options reads a map column key by key and reports what is wrong with it. It is used up by reading: what is left at the end is what this
// switch does not know.
type options struct {
	m      map[string]string
	column string
	report *Report
	bad    bool
}

// take removes a key and returns its value.
func (o *options) take(key string) (string, bool) {
	v, ok := o.m[key]
	delete(o.m, key)
	return v, ok
}

func (o *options) fail(key, value, format string, args ...any) {
	o.bad = true
	o.report.fail("%s:%s=%s: %s", o.column, key, value, fmt.Sprintf(format, args...))
}

// forced takes a number and brings it between lo and hi, with a warning.
func (o *options) forced(key string, otherwise, lo, hi int) int {
	v, ok := o.take(key)
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		o.fail(key, v, "not a number")
		return otherwise
	}
	used := min(max(n, lo), hi) // out of the type's range, n is its nearest
	if used != n || err != nil {
		o.report.warn("%s:%s=%s: not between %d and %d; %d is used", o.column, key, v, lo, hi, used)
	}
	return used
}

func (o *options) boolean(key string, otherwise bool) bool {
	v, ok := o.take(key)
	switch {
	case !ok:
		return otherwise
	case v == "true":
		return true
	case v == "false":
		return false
	default:
		o.fail(key, v, "neither true nor false")
		return otherwise
	}
}

// choice takes one of the words.
func (o *options) choice(key, otherwise string, words ...string) string {
	v, ok := o.take(key)
	switch {
	case !ok:
		return otherwise
	case slices.Contains(words, v):
		return v
	default:
		o.fail(key, v, "not one of %q", words)
		return otherwise
	}
}

// leftover warns about the keys that nobody took.
func (o *options) leftover() {
	for _, k := range slices.Sorted(maps.Keys(o.m)) {
		o.report.warn("%s:%s is stored but has no effect in this switch", o.column, k)
	}
}
