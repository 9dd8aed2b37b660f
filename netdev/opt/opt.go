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

	"github.com/gvswitch/gvswitch/netdev"
)

// Reader reads one device's options. After all have been asked for, Done says
// whether they were good; the first fault wins.
type Reader struct {
	device string
	all    map[string]string
	left   map[string]string
	known  []string // keys that were asked for
	err    error
}

// New makes a Reader of options, which stay as they are. Errors begin with device.
func New(device string, options map[string]string) *Reader {
	return &Reader{device: device, all: options, left: maps.Clone(options)}
}

// Take takes the option key and reports whether it is set.
func (r *Reader) Take(key string) (value string, ok bool) {
	r.known = append(r.known, key)
	value, ok = r.left[key]
	delete(r.left, key)
	return value, ok
}

// String takes the option key, or def if it is not set.
func (r *Reader) String(key, def string) string {
	if v, ok := r.Take(key); ok {
		return v
	}
	return def
}

// Bool takes "true" or "false".
func (r *Reader) Bool(key string, def bool) bool {
	v, ok := r.Take(key)
	switch {
	case !ok:
		return def
	case v == "true":
		return true
	case v == "false":
		return false
	default:
		r.RefuseAlone(key, "must be true or false")
		return def
	}
}

// Int takes a decimal number from lo to hi.
func (r *Reader) Int(key string, def, lo, hi int) int {
	v, ok := r.Take(key)
	if !ok {
		return def
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < lo || n > hi {
		r.RefuseAlone(key, fmt.Sprintf("must be a number from %d to %d", lo, hi))
		return def
	}
	return n
}

// Refuse makes Done fail because of the option, in the words of the Interface row.
func (r *Reader) Refuse(key, reason string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: options:%s=%s: %s", r.device, key, r.all[key], reason)
	}
}

// RefuseAlone is Refuse for an option that the device can do without: Done fails with a
// netdev.SettingError. Numbers and booleans only tune.
func (r *Reader) RefuseAlone(key, reason string) {
	if r.err == nil {
		r.Refuse(key, reason)
		r.err = &netdev.SettingError{Key: key, Err: r.err}
	}
}

// Done reports the first option that was refused, or the first that nobody asked for.
func (r *Reader) Done() error {
	if len(r.left) > 0 {
		key, reason := slices.Min(slices.Collect(maps.Keys(r.left))), "not an option of this type of port"
		if like := r.like(key); like != "" {
			reason += ", but " + like + " is"
		}
		r.Refuse(key, reason)
	}
	return r.err
}

// like is the option that differs from key only in - and _, "" if there is none.
func (r *Reader) like(key string) string {
	same := func(s string) string { return strings.ReplaceAll(s, "-", "_") }
	for _, k := range r.known {
		if same(k) == same(key) {
			return k
		}
	}
	return ""
}
