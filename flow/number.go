package flow

import (
	"math/bits"
	"strconv"
)

// ParseNumber reads a number as ovs-ofctl does, all of s: 0x and up to 128 bits in hexadecimal (none are 0),
// or up to 64 bits as C's strtoull has them: decimal, octal behind a 0, and -1 is all ones. big says that it
// has more.
func ParseNumber(s string) (v Value, big, ok bool) {
	if len(s) > 1 && s[0] == '0' && s[1]|0x20 == 'x' {
		for _, c := range []byte(s[2:]) {
			d := digitOf(c)
			if d > 15 {
				return v, false, false
			}
			big = big || v.Hi>>60 != 0
			v = v.Lsh(4)
			v.Lo |= d
		}
		return v, big, true
	}
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg, s = s[0] == '-', s[1:]
	}
	base := uint64(10)
	if len(s) > 1 && s[0] == '0' {
		base, s = 8, s[1:]
		if s[0]|0x20 == 'x' {
			base, s = 16, s[1:]
		}
	}
	for _, c := range []byte(s) {
		d := digitOf(c)
		if d >= base {
			return v, false, false
		}
		over, lo := bits.Mul64(v.Lo, base)
		sum, carry := bits.Add64(lo, d, 0)
		big = big || over|carry != 0
		v.Lo = sum
	}
	if neg {
		v.Lo = -v.Lo
	}
	return v, big, s != ""
}

// ParseDecimal reads a decimal number, all of s: 010 is ten, as ovs-ofctl has it of ports, tables and the
// lengths of prefixes. A number of 2^40 or more is one, but not the right one.
func ParseDecimal(s string) (v uint64, ok bool) {
	for _, c := range []byte(s) {
		if c -= '0'; c > 9 {
			return 0, false
		}
		v = min(v*10+uint64(c), 1<<40)
	}
	return v, s != ""
}

// digitOf is the value of a digit, 255 if c is none.
func digitOf(c byte) uint64 {
	switch {
	case '0' <= c && c <= '9':
		return uint64(c - '0')
	case 'a' <= c && c <= 'f':
		return uint64(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return uint64(c-'A') + 10
	}
	return 255
}

// AppendHex appends v in hexadecimal with at least n digits; 0 without any is just that, as C's "%#x" has it.
func AppendHex(b []byte, v Value, n int) []byte {
	if v.IsZero() && n == 0 {
		return append(b, '0')
	}
	b = append(b, '0', 'x')
	for i := max(n, (v.Len()+3)/4) - 1; i >= 0; i-- {
		b = append(b, "0123456789abcdef"[v.Rsh(uint(4*i)).Lo&15])
	}
	return b
}

func appendDec(b []byte, v uint64) []byte { return strconv.AppendUint(b, v, 10) }
