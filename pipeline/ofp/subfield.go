package ofp

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/flow"
)

// full tells whether s is the whole field.
func (s Subfield) full() bool { return s.Ofs == 0 && int(s.Bits) == width(s.Field) }

// width is how many bits subfields of f may have: of vlan_vid, they do not have the one that says that there is a tag.
func width(f *flow.Field) int {
	if f.Name == "vlan_vid" {
		return 12
	}
	return f.Bits
}

// mask is the bits of s in its field.
func (s Subfield) mask() flow.Value { return flow.Ones(uint(s.Bits)).Lsh(uint(s.Ofs)) }

// ParseSubfield reads "field", "field[]", "field[5]" or "field[0..7]".
func ParseSubfield(text string) (Subfield, error) {
	s, rest, err := takeSubfield(text)
	if err == nil && rest != "" {
		err = fmt.Errorf("%q behind field %s", rest, s.Field.Name)
	}
	return s, err
}

// takeSubfield reads a subfield at the start of text, up to "->" or the end.
func takeSubfield(text string) (s Subfield, rest string, err error) {
	i := 0
	for i < len(text) && text[i] != '[' && text[i] != '-' {
		i++
	}
	name := text[:i]
	f := flow.FieldByName(name)
	if f == nil {
		return s, text, fmt.Errorf("there is no field %q", name)
	}
	rest = text[i:]
	first, last := 0, width(f)-1
	if rest != "" && rest[0] == '[' {
		end := strings.IndexByte(rest, ']')
		if end < 0 {
			return s, text, fmt.Errorf("%s: the bracket is not closed", text)
		}
		part := rest[1:end]
		rest = rest[end+1:]
		if part != "" {
			a, b, two := strings.Cut(part, "..")
			var err1, err2 error
			first, err1 = strconv.Atoi(a)
			last = first
			if two {
				last, err2 = strconv.Atoi(b)
			}
			if err1 != nil || err2 != nil {
				return s, text, fmt.Errorf("%s: bits are written [], [BIT] or [FIRST..LAST]", text)
			}
		}
	}
	switch {
	case first < 0 || first > last:
		return s, text, fmt.Errorf("%s: the first bit, %d, is behind the last, %d", text, first, last)
	case last >= width(f):
		return s, text, fmt.Errorf("%s: bit %d: %s has %d bits", text, last, f.Name, width(f))
	}
	return Subfield{Field: f, Ofs: uint16(first), Bits: uint16(last - first + 1)}, rest, nil
}

// AppendSubfield writes s as in actions: the field's NXM or OXM name, and its bits.
func AppendSubfield(b []byte, s Subfield) []byte {
	b = append(b, oxmName(s.Field)...)
	b = append(b, '[')
	if !s.full() {
		b = strconv.AppendUint(b, uint64(s.Ofs), 10)
		if s.Bits > 1 {
			b = append(b, '.', '.')
			b = strconv.AppendUint(b, uint64(s.Ofs+s.Bits-1), 10)
		}
	}
	return append(b, ']')
}

// addSubfield has m ask that some bits of a field be a number: "reg0[0..7]=5".
func addSubfield(m *flow.Match, key, value string) error {
	s, err := ParseSubfield(key)
	if err != nil {
		return err
	}
	v, ok := parseWide(value)
	switch {
	case !ok:
		return fmt.Errorf("%s: %q is not a number", key, value)
	case !fits(v, s.Bits):
		return fmt.Errorf("%s: %s does not fit into %d bits", key, value, s.Bits)
	case !s.full() && !s.Field.Maskable():
		return fmt.Errorf("%s: a match cannot ask for some bits of %s", key, s.Field.Name)
	}
	old, mask := m.Get(s.Field)
	bits := s.mask()
	m.Put(s.Field, old.AndNot(bits).Or(v.Lsh(uint(s.Ofs))), mask.Or(bits))
	return nil
}

// fits tells whether v has no 1 but in its last n bits.
func fits(v flow.Value, n uint16) bool { return v.AndNot(flow.Ones(uint(n))).IsZero() }
