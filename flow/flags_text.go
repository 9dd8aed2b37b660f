package flow

import (
	"fmt"
	"strings"
)

// Names of bits, the lowest first.
var (
	tcpFlags = []string{"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr", "ns", "[200]", "[400]", "[800]"}
	ctStates = []string{"new", "est", "rel", "rpl", "inv", "trk", "snat", "dnat"}
	tunFlags = []string{"oam"}
)

// flagNames are the names of f's bits; nil if it has none.
func (f *Field) flagNames() []string {
	switch f.form {
	case tcpFlagsForm:
		return tcpFlags
	case ctStateForm:
		return ctStates
	case tunFlagsForm:
		return tunFlags
	}
	return nil
}

// parseFlags reads +name-name, which asks for these bits, name|name, which asks for all of them, or a
// number with or without a mask.
func parseFlags(text string, names []string) (v, mask uint64, err error) {
	valid := Ones(uint(len(names)))
	if text == "" {
		return 0, 0, errNoValue
	}
	if c := text[0]; '0' <= c && c <= '9' {
		value, m, hasMask := strings.Cut(text, "/")
		mv := valid
		x, big, ok := ParseNumber(value)
		if ok && hasMask {
			var bigMask bool
			mv, bigMask, ok = ParseNumber(m)
			big = big || bigMask
		}
		switch {
		case !ok:
			return 0, 0, errNotNumber
		case big || !x.AndNot(valid).IsZero() || !mv.AndNot(valid).IsZero():
			return 0, 0, fmt.Errorf("out of range, at most %#x", valid.Lo)
		}
		return x.Lo, mv.Lo, nil
	}
	signed := text[0] == '+' || text[0] == '-'
	for rest := text; rest != ""; {
		sign := byte('+')
		if signed {
			sign, rest = rest[0], rest[1:]
		}
		n := strings.IndexAny(rest, "|+-")
		if n < 0 {
			n = len(rest)
		}
		bit, ok := uint64(1), false
		for _, name := range names {
			if ok = name == rest[:n]; ok {
				break
			}
			bit <<= 1
		}
		switch {
		case !ok:
			return 0, 0, fmt.Errorf("there is no flag %q", rest[:n])
		case signed && mask&bit != 0:
			return 0, 0, fmt.Errorf("flag %s twice", rest[:n])
		}
		mask |= bit
		if sign == '+' {
			v |= bit
		}
		if rest = rest[n:]; rest == "" {
			break
		}
		if (rest[0] == '|') == signed || !signed && rest[0] != '|' {
			return 0, 0, fmt.Errorf("flags are written +a-b or a|b")
		}
		if !signed {
			if rest = rest[1:]; rest == "" {
				return 0, 0, fmt.Errorf("there is no flag %q", "")
			}
		}
	}
	if !signed {
		mask = valid.Lo
	}
	return v, mask, nil
}

// appendFlags appends flags as a|b, for an exact value, or +a-b.
func appendFlags(b []byte, v, mask uint64, names []string, signed bool) []byte {
	valid := Ones(uint(len(names))).Lo
	if !signed && mask&valid == valid {
		start := len(b)
		for i, name := range names {
			if v>>i&1 != 0 {
				if len(b) > start {
					b = append(b, '|')
				}
				b = append(b, name...)
			}
		}
		if len(b) == start {
			b = append(b, '0')
		}
		return b
	}
	for i, name := range names {
		if mask>>i&1 != 0 {
			b = append(b, "-+"[v>>i&1])
			b = append(b, name...)
		}
	}
	return b
}

// frags are ip_frag's values.
var frags = []struct {
	name    string
	v, mask uint64
}{
	{"no", 0, 3},
	{"yes", FragAny, FragAny},
	{"first", FragAny, 3},
	{"later", FragAny | FragLater, 3},
	{"not_later", 0, FragLater},
	{"later", FragLater, FragLater},
}

func parseFrag(text string) (v, mask uint64, err error) {
	for _, f := range frags {
		if f.name == text {
			return f.v, f.mask, nil
		}
	}
	return 0, 0, fmt.Errorf("not no, yes, first, later or not_later")
}

func appendFrag(b []byte, v, mask uint64) []byte {
	for _, f := range frags {
		if f.v == v&mask && f.mask == mask {
			return append(b, f.name...)
		}
	}
	return append(b, "<error>"...)
}
