// Package opt reads the options of a device: each is asked for by name with its
// default and its limits, and what nobody asked for is refused. It refuses to know what
// any option means. A Reader belongs to one goroutine.
package opt

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Reader reads one device's options. After all have been asked for, Done says
// whether they were good; the first fault wins.
type Reader struct {
	device string
	left   map[string]string
	err    error
}

// New makes a Reader of options, which stay as they are.
func New(device string, options map[string]string) *Reader {
	return &Reader{device: device, left: maps.Clone(options)}
}

// String takes the option key, or def if it is not set.
func (r *Reader) String(key, def string) string {
	v, ok := r.left[key]
	if !ok {
		return def
	}
	delete(r.left, key)
	return v
}

// Bool takes "true" or "false".
func (r *Reader) Bool(key string, def bool) bool {
	switch v := r.String(key, ""); v {
	case "":
		return def
	case "true":
		return true
	case "false":
		return false
	default:
		r.Refuse(key, v, "must be true or false")
		return def
	}
}

// Int takes a decimal number from lo to hi.
func (r *Reader) Int(key string, def, lo, hi int) int {
	v := r.String(key, "")
	if v == "" {
		return def
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < lo || n > hi {
		r.Refuse(key, v, fmt.Sprintf("must be a number from %d to %d", lo, hi))
		return def
	}
	return n
}

// Refuse makes Done fail because of the option.
func (r *Reader) Refuse(key, value, reason string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: option %s=%q: %s", r.device, key, value, reason)
	}
}

// Done reports the first option that was refused, or those that nobody asked for.
func (r *Reader) Done() error {
	if r.err == nil && len(r.left) > 0 {
		keys := slices.Sorted(maps.Keys(r.left))
		r.err = fmt.Errorf("%s: option %s: unknown for this type of device", r.device, strings.Join(keys, ", "))
	}
	return r.err
}
