package flowtest

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/hdr"
)

// ParseFrame reads a FRAME (see the package comment).
func ParseFrame(text string) (Frame, error) {
	b, err := compose(text)
	if err != nil {
		return Frame{}, fmt.Errorf("frame %q: %w", text, err)
	}
	return Frame{text, b}, nil
}

// compose makes the bytes of a FRAME.
func compose(text string) ([]byte, error) {
	text, zeros, err := cutNumber(text, "zeros")
	if err != nil {
		return nil, err
	}
	var b []byte
	if h, ok := strings.CutPrefix(text, "hex "); ok {
		b, err = parseHex(h)
	} else {
		b, err = composeFlow(text)
	}
	return append(b, make([]byte, zeros)...), err
}

func composeFlow(text string) ([]byte, error) {
	text, n, err := cutNumber(text, "len")
	if err != nil {
		return nil, err
	}
	text, tags, tagged := cutItem(text, "tags")
	for {
		begin, inner, end, ok := over(text)
		if !ok {
			break
		}
		b, err := compose(inner)
		if err != nil {
			return nil, err
		}
		text = begin + "payload=" + hex.EncodeToString(b[hdr.EthernetLen:]) + end
	}
	b, err := flow.ComposeLen(text, n)
	if err == nil && tagged {
		b, err = retag(b, tags)
	}
	return b, err
}

// over finds over{FLOW} in text.
func over(text string) (begin, inner, end string, ok bool) {
	at := strings.Index(text, "over{")
	if at < 0 {
		return "", "", "", false
	}
	depth := 0
	for i := at; i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[:at], text[at+len("over{") : i], text[i+1:], true
			}
		}
	}
	return "", "", "", false
}

// cutItem takes name=value, separated by blanks or commas that are in no braces, out of text.
func cutItem(text, name string) (rest, value string, ok bool) {
	depth, start := 0, 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) {
			switch text[i] {
			case '{', '(':
				depth++
			case '}', ')':
				depth--
			}
		}
		if i < len(text) && (depth > 0 || text[i] != ',' && text[i] != ' ') {
			continue
		}
		if v, found := strings.CutPrefix(text[start:i], name+"="); found {
			before := strings.TrimRight(text[:start], ", ")
			after := strings.TrimLeft(text[i:], ", ")
			if before != "" && after != "" {
				before += ","
			}
			return before + after, v, true
		}
		start = i + 1
	}
	return text, "", false
}

func cutNumber(text, name string) (string, int, error) {
	rest, v, ok := cutItem(text, name)
	if !ok {
		return text, 0, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return "", 0, fmt.Errorf("%s=%s: not a number", name, v)
	}
	return rest, n, nil
}

// parseHex reads words of bytes, each perhaps *N.
func parseHex(text string) ([]byte, error) {
	var all []byte
	for word := range strings.FieldsSeq(text) {
		digits, times, repeated := strings.Cut(word, "*")
		n := 1
		if repeated {
			var err error
			if n, err = strconv.Atoi(times); err != nil {
				return nil, fmt.Errorf("%s: %q is not how often", word, times)
			}
		}
		b, err := hex.DecodeString(digits)
		if err != nil {
			return nil, fmt.Errorf("%s: not bytes in hex", word)
		}
		for range n {
			all = append(all, b...)
		}
	}
	return all, nil
}

// change makes what is expected of the frame.
func (f Frame) change(text string) ([]byte, error) {
	if text == "same" {
		return f.Bytes, nil
	}
	if t, ok := strings.CutPrefix(text, "flow "); ok {
		return compose(t)
	}
	if strings.HasPrefix(text, "hex ") {
		return compose(text)
	}
	text, cut, err := cutNumber(text, "cut")
	if err != nil {
		return nil, err
	}
	text, tags, tagged := cutItem(text, "tags")
	b := f.Bytes
	switch {
	case text == "":
	case strings.HasPrefix(f.Text, "hex "):
		if b, err = changeHex(b, text); err != nil {
			return nil, err
		}
	default:
		// What comes later counts.
		if b, err = compose(f.Text + "," + text); err != nil {
			return nil, fmt.Errorf("frame %q: %w", text, err)
		}
	}
	if tagged {
		if b, err = retag(b, tags); err != nil {
			return nil, err
		}
	}
	if cut > 0 && cut < len(b) {
		b = b[:cut]
	}
	return b, nil
}

// changeHex changes addresses of a frame that is no flow's.
func changeHex(b []byte, text string) ([]byte, error) {
	b = append([]byte(nil), b...)
	for item := range strings.SplitSeq(text, ",") {
		k, err := flow.Parse(item)
		if err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(item, "=")
		switch name {
		case "eth_dst", "dl_dst":
			a := k.EthDst().Bytes()
			copy(b, a[:])
		case "eth_src", "dl_src":
			a := k.EthSrc().Bytes()
			copy(b[6:], a[:])
		default:
			return nil, fmt.Errorf("%s: of a frame in hex only addresses and tags can be changed", item)
		}
	}
	return b, nil
}
