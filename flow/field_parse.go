package flow

import (
	"errors"
	"fmt"
	"strings"
)

var (
	errNoValue   = errors.New("no value")
	errNotNumber = errors.New("not a number")
	errNoPort    = errors.New("there is no such port")
	errNoMask    = errors.New("a mask cannot stand here")
)

// Parse reads a value of f, and the mask behind its slash if there is one; without, mask is All. v is 0
// where mask is. An error names the field, the text and what is wrong.
func (f *Field) Parse(text string, n PortNames) (v, mask Value, err error) {
	v, mask, err = f.parse(text, n)
	if err != nil {
		err = fmt.Errorf("%s=%s: %w", f.Name, text, err)
	}
	return v, mask, err
}

// parse is Parse with an error that has only the reason.
func (f *Field) parse(text string, n PortNames) (v, mask Value, err error) {
	if text == "" {
		return v, mask, errNoValue
	}
	if text == "*" {
		return Value{}, Value{}, nil
	}
	if names := f.flagNames(); names != nil {
		v.Lo, mask.Lo, err = parseFlags(text, names)
		return v.And(mask), mask, err
	}
	if f.form == fragForm {
		v.Lo, mask.Lo, err = parseFrag(text)
		return v, mask, err
	}
	if f.form == portForm {
		p, ok := ParsePort(text, n)
		if !ok {
			return Value{}, Value{}, errNoPort
		}
		if f.quirk == port32 && p >= portReserved && p <= 0xffff {
			p |= portReserved32
		}
		return Value{Lo: uint64(p)}, f.All(), nil
	}
	text, maskText, hasMask := strings.Cut(text, "/")
	if v, err = f.parseOne(text); err != nil {
		return Value{}, Value{}, err
	}
	mask = f.full
	if hasMask {
		if mask, err = f.parseMask(maskText); err != nil {
			return Value{}, Value{}, err
		}
		if !f.maskable && !mask.IsZero() && mask != f.All() && mask != f.full {
			return Value{}, Value{}, errNoMask
		}
	}
	if !f.maskable && !mask.IsZero() {
		mask = f.full
	}
	return v.And(mask), mask, nil
}

// parseOne reads a value without a mask.
func (f *Field) parseOne(text string) (v Value, err error) {
	var ok bool
	switch f.form {
	case macForm:
		if v, ok = parseMAC(text); !ok {
			err = errors.New("not an Ethernet address")
		}
	case ipv4Form:
		if v, ok = parseIP4(text); !ok {
			err = errors.New("not an IPv4 address")
		}
	case ipv6Form:
		if v, ok = parseIP6(text); !ok {
			err = errors.New("not an IPv6 address")
		}
	default:
		v, err = f.parseNumber(text)
	}
	return v, err
}

// parseNumber reads a number that fits f. The two low bits of nw_tos are not part of it; they may be
// given, as ovs-ofctl allows.
func (f *Field) parseNumber(text string) (Value, error) {
	v, big, ok := ParseNumber(text)
	switch {
	case !ok:
		return Value{}, errNotNumber
	case big || v.Len() > f.full.Len():
		if f.full.Hi != 0 {
			return Value{}, fmt.Errorf("out of range, at most %d bits", f.Bits)
		}
		return Value{}, fmt.Errorf("out of range, at most %d", Ones(uint(f.full.Len())).Lo)
	}
	return v, nil
}

// parseMask reads a mask in the form of a value, or as the length of a prefix.
func (f *Field) parseMask(text string) (Value, error) {
	if f.form == ipv4Form || f.form == ipv6Form {
		if n, ok := ParseDecimal(text); ok {
			if n > uint64(f.Bits) {
				return Value{}, fmt.Errorf("prefix out of range, at most %d", f.Bits)
			}
			return f.All().AndNot(Ones(uint(f.Bits) - uint(n))), nil
		}
	}
	v, err := f.parseOne(text)
	if err != nil {
		err = fmt.Errorf("mask: %w", err)
	}
	return v, err
}

// Append appends a value of f as ovs-ofctl writes it in actions, with the mask behind a slash
// unless that is all of the field.
func (f *Field) Append(b []byte, v, mask Value, n PortNames) []byte {
	return f.append(b, v, mask, n, false)
}

// append is Append, or if match, how ovs-ofctl writes f's value in a match.
func (f *Field) append(b []byte, v, mask Value, n PortNames, match bool) []byte {
	whole := mask.And(f.full) == f.full
	if !match && mask.IsZero() {
		return append(b, "ANY"...)
	}
	if names := f.flagNames(); names != nil {
		return appendFlags(b, v.Lo, mask.Lo, names, match && f.form == tunFlagsForm)
	}
	switch f.form {
	case fragForm:
		return appendFrag(b, v.Lo, mask.Lo)
	case portForm:
		if whole {
			return AppendPort(b, uint32(v.Lo)&0xffff, n)
		}
	case macForm:
		b = appendMAC(b, v.Lo)
		if !whole {
			b = appendMAC(append(b, '/'), mask.Lo)
		}
		return b
	case ipv4Form, ipv6Form:
		return f.appendAddress(b, v, mask)
	}
	digits := 0
	form := f.form
	if match {
		digits = int(f.digits)
		switch {
		case digits == decimalInMatch:
			form, digits = dec, 0
		case form == dec && !whole:
			form, digits = hexa, 1 // "0x0", not "0"
		}
	}
	if form == hexa {
		b = AppendHex(b, v, digits)
	} else {
		b = appendDec(b, v.Lo)
	}
	if !whole {
		b = AppendHex(append(b, '/'), mask, digits)
	}
	return b
}

func (f *Field) appendAddress(b []byte, v, mask Value) []byte {
	one := appendIP6
	if f.form == ipv4Form {
		one = func(b []byte, v Value) []byte { return ip4(uint32(v.Lo)).AppendTo(b) }
	}
	b = one(b, v)
	if mask == f.full {
		return b
	}
	b = append(b, '/')
	if n, ok := mask.prefix(uint(f.Bits)); ok {
		return appendDec(b, uint64(n))
	}
	return one(b, mask)
}
