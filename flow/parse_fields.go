package flow

import (
	"errors"
	"fmt"
	"strings"
)

// field reads the value of what is called name, in header g if that is not nil; label is how an error
// speaks of it.
func (s *spec) field(label string, g *group, name, value string) error {
	f, err := s.find(g, name)
	switch {
	case err != nil:
	case strings.Contains(value, "/"):
		err = errNoMask
	case f == nil:
		err = s.other(g, name, value)
	default:
		err = s.put(f, value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", label, err)
	}
	return nil
}

// find is the field called name at this place; nil if it is not one of a key.
func (s *spec) find(g *group, name string) (*Field, error) {
	full := name
	if g != nil {
		full = g.name + "." + name
	}
	if l, ok := tagFields[full]; ok {
		i := min(s.tags, 1)
		if f := keyFields[[]string{"vlan_tpid1", "vlan_tpid2"}[i]]; f.Get(&s.key).IsZero() {
			f.put(&s.key, Value{Lo: tpidDefault}, f.full)
		}
		return l[i], nil
	}
	if l, ok := labelFields[full]; ok {
		return l[max(0, s.labels-1)], nil
	}
	f := keyField(name)
	if g != nil {
		f = g.field(name)
	}
	if f == nil && full != "payload" && full != "packet_type.ns" && full != "packet_type.id" {
		return nil, errors.New("no such field")
	}
	return f, nil
}

// other reads what is no field.
func (s *spec) other(g *group, name, value string) error {
	if g == nil && name == "payload" {
		return s.payloadHex(value)
	}
	if v, big, ok := ParseNumber(value); !ok || big || !v.IsZero() {
		return errors.New("a frame can only have 0")
	}
	return nil
}

// put reads a value, which must be exact, into f.
func (s *spec) put(f *Field, value string) error {
	v, mask, err := f.parse(value, nil)
	if err != nil {
		return err
	}
	if f.form == fragForm && mask != f.full || value == "*" {
		return errNoMask
	}
	s.seen[f.Name] = true
	f.put(&s.key, v, f.full)
	if f.also.mask != 0 {
		s.key[f.also.word] = s.key[f.also.word]&^f.also.mask | f.also.value
	}
	return nil
}
