package ofp

import (
	"fmt"
	"strconv"

	"github.com/gvswitch/gvswitch/flow"
)

// parseUint reads a number of 64 bits as C's strtoull does with base 0, but all of text: "0x1f", "017", "15";
// "-1" is all ones.
func parseUint(text string) (uint64, bool) {
	v, big, ok := flow.ParseNumber(text)
	return v.Lo, ok && !big && v.Hi == 0 && text != "0x"
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

// parseWide reads a number of up to 128 bits.
func parseWide(text string) (v flow.Value, ok bool) {
	v, big, ok := flow.ParseNumber(text)
	return v, ok && !big
}

// appendHex writes v as "0x..", or "0" for zero.
func appendHex(b []byte, v uint64) []byte { return flow.AppendHex(b, flow.Value{Lo: v}, 0) }

// parseHexBytes reads pairs of hexadecimal digits, which may stand apart by dots.
func parseHexBytes(text, what string) ([]byte, error) {
	var b []byte
	for i := 0; i < len(text); {
		if text[i] == '.' || text[i] == ' ' {
			i++
			continue
		}
		v, err := strconv.ParseUint(text[i:min(i+2, len(text))], 16, 8)
		if err != nil || i+1 == len(text) {
			return nil, fmt.Errorf("%s: %q at byte %d are not two hexadecimal digits", what, text[i:min(i+2, len(text))], i)
		}
		b = append(b, byte(v))
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
