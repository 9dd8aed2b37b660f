package flow

import (
	"math/bits"
	"strconv"
)

// parseValue reads a number of up to 128 bits, all of s: 0x and hexadecimal, 0 and octal (as C has
// it), or decimal. big says that it has more bits.
func parseValue(s string) (v Value, big, ok bool) {
	base := uint64(10)
	if len(s) > 1 && s[0] == '0' {
		base, s = 8, s[1:]
		if s[0] == 'x' || s[0] == 'X' {
			base, s = 16, s[1:]
		}
	}
	if s == "" {
		return v, false, false
	}
	for i := range len(s) {
		d := digitOf(s[i])
		if d >= base {
			return v, false, false
		}
		over, lo := bits.Mul64(v.Lo, base)
		over2, hi := bits.Mul64(v.Hi, base)
		var c1, c2 uint64
		lo, c1 = bits.Add64(lo, d, 0)
		hi, c2 = bits.Add64(hi, over, c1)
		big = big || over2|c2 != 0
		v = Value{hi, lo}
	}
	return v, big, true
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

// appendHex appends v in hexadecimal with at least n digits; 0 without any is just that.
func appendHex(b []byte, v Value, n int) []byte {
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
