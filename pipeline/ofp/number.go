package ofp

import (
	"fmt"
	"math/bits"

	"github.com/gvswitch/gvswitch/flow"
)

// parseUint reads a number as C's strtoull does with base 0, but all of text: "0x1f", "017", "15";
// "-1" is all ones.
func parseUint(text string) (uint64, bool) {
	neg := false
	if text != "" && (text[0] == '-' || text[0] == '+') {
		neg = text[0] == '-'
		text = text[1:]
	}
	base := uint64(10)
	if len(text) > 1 && text[0] == '0' {
		base, text = 8, text[1:]
		if c := text[0]; c == 'x' || c == 'X' {
			base, text = 16, text[1:]
		}
	}
	if text == "" {
		return 0, false
	}
	var v uint64
	for i := 0; i < len(text); i++ {
		d := uint64(digit(text[i]))
		if d >= base {
			return 0, false
		}
		hi, lo := bits.Mul64(v, base)
		sum, carry := bits.Add64(lo, d, 0)
		if hi|carry != 0 {
			return 0, false
		}
		v = sum
	}
	if neg {
		v = -v
	}
	return v, true
}

// digit is the value of a hexadecimal digit, 255 of any other byte.
func digit(c byte) uint8 {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

// parseMax reads a number from 0 to limit; what names it in the error.
func parseMax(text, what string, limit uint64) (uint64, error) {
	v, ok := parseUint(text)
	switch {
	case text == "":
		return 0, fmt.Errorf("%s: a number is missing", what)
	case !ok:
		return 0, fmt.Errorf("%s: %q is not a number", what, text)
	case v > limit:
		return 0, fmt.Errorf("%s: %s is not in 0 to %d", what, text, limit)
	}
	return v, nil
}

func parse8(text, what string) (uint8, error) {
	v, err := parseMax(text, what, 0xff)
	return uint8(v), err
}

func parse16(text, what string) (uint16, error) {
	v, err := parseMax(text, what, 0xffff)
	return uint16(v), err
}

// parse32 also takes "-1", which is all ones.
func parse32(text, what string) (uint32, error) {
	if text == "-1" {
		return 0xffffffff, nil
	}
	v, err := parseMax(text, what, 0xffffffff)
	return uint32(v), err
}

func parse64(text, what string) (uint64, error) {
	return parseMax(text, what, 1<<64-1)
}

// parseWide reads a number of up to 128 bits at the start of text and returns what stands behind it.
func parseWide(text string) (v flow.Value, rest string, ok bool) {
	if len(text) > 1 && text[0] == '0' && text[1]|0x20 == 'x' {
		i := 2
		for ; i < len(text) && digit(text[i]) != 255; i++ {
			if v.Hi>>60 != 0 {
				return v, text, false
			}
			v.Hi = v.Hi<<4 | v.Lo>>60
			v.Lo = v.Lo<<4 | uint64(digit(text[i]))
		}
		return v, text[i:], true
	}
	i := 0
	if text != "" && (text[0] == '-' || text[0] == '+') {
		i = 1
	}
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	v.Lo, ok = parseUint(text[:i])
	return v, text[i:], ok
}

// appendHex writes v as "0x..", or "0" for zero, as C's "%#x" does.
func appendHex(b []byte, v uint64) []byte { return appendWide(b, flow.Value{Lo: v}) }

func appendWide(b []byte, v flow.Value) []byte {
	if v == (flow.Value{}) {
		return append(b, '0')
	}
	b = append(b, '0', 'x')
	started := false
	for shift := 124; shift >= 0; shift -= 4 {
		w, s := v.Lo, shift
		if shift >= 64 {
			w, s = v.Hi, shift-64
		}
		d := w >> s & 15
		if d != 0 || started {
			started = true
			b = append(b, "0123456789abcdef"[d])
		}
	}
	return b
}

// parseHexBytes reads pairs of hexadecimal digits, which may stand apart by dots.
func parseHexBytes(text, what string) ([]byte, error) {
	var b []byte
	for i := 0; i < len(text); {
		if text[i] == '.' || text[i] == ' ' {
			i++
			continue
		}
		if i+1 == len(text) || digit(text[i]) == 255 || digit(text[i+1]) == 255 {
			return nil, fmt.Errorf("%s: %q at byte %d are not two hexadecimal digits", what, text[i:min(i+2, len(text))], i)
		}
		b = append(b, digit(text[i])<<4|digit(text[i+1]))
		i += 2
	}
	return b, nil
}

// appendHexBytes writes bytes as "00.11.22".
func appendHexBytes(b, data []byte) []byte {
	const hex = "0123456789abcdef"
	for i, c := range data {
		if i > 0 {
			b = append(b, '.')
		}
		b = append(b, hex[c>>4], hex[c&15])
	}
	return b
}
