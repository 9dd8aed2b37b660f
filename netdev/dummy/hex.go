package dummy

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
)

// ParseHex reads a frame written as hexadecimal digits; white space is for people.
func ParseHex(text string) ([]byte, error) {
	digits := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	b, err := hex.DecodeString(digits)
	if err != nil {
		return nil, fmt.Errorf("frame %q: %w", text, err)
	}
	return b, nil
}
