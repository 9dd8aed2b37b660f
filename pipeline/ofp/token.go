package ofp

// nextPair takes the first item off text: "key", "key=value", "key:value", "key(value)" or
// "key(part)->rest", whose value is "part)->rest". Items stand apart by commas and white space;
// parentheses inside a value belong to it. ok is false when nothing is left.
func nextPair(text string) (key, value, rest string, ok bool) {
	i := 0
	for i < len(text) && isGap(text[i]) {
		i++
	}
	if i == len(text) {
		return "", "", "", false
	}
	text = text[i:]
	for i = 0; i < len(text) && !isGap(text[i]); i++ {
		if c := text[i]; c == '=' || c == ':' || c == '(' {
			break
		}
	}
	key, text = text[:i], text[i:]
	if text == "" || isGap(text[0]) {
		return key, "", text, true
	}
	paren := text[0] == '('
	text = text[1:]
	end := valueEnd(text, 0, paren)
	if paren && end+2 < len(text) && text[end+1] == '-' && text[end+2] == '>' {
		end = valueEnd(text, end, false)
	}
	value, rest = text[:end], text[end:]
	if rest != "" {
		rest = rest[1:]
	}
	return key, value, rest, true
}

// isGap tells whether c stands between items.
func isGap(c byte) bool {
	return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n'
}

// valueEnd is where the value that goes on at text[i] ends: at a closing parenthesis if paren, else
// at a gap, or at the end of text.
func valueEnd(text string, i int, paren bool) int {
	for i < len(text) {
		c := text[i]
		if paren && c == ')' || !paren && isGap(c) {
			return i
		}
		if c != '(' {
			i++
			continue
		}
		for level := 0; ; {
			if i == len(text) {
				return i
			}
			switch text[i] {
			case '(':
				level++
			case ')':
				level--
			}
			i++
			if level == 0 {
				break
			}
		}
	}
	return i
}

// nextWord takes the first word off text, words standing apart by bytes of seps.
func nextWord(text, seps string) (word, rest string) {
	i := 0
	for i < len(text) && hasByte(seps, text[i]) {
		i++
	}
	j := i
	for j < len(text) && !hasByte(seps, text[j]) {
		j++
	}
	word = text[i:j]
	if j < len(text) {
		j++
	}
	return word, text[j:]
}

func hasByte(s string, c byte) bool {
	for i := 0; i < len(s); i++ {
		if s[i] == c {
			return true
		}
	}
	return false
}

// lower is text with small letters; it allocates only when there is something to change.
func lower(text string) string {
	for i := 0; i < len(text); i++ {
		if c := text[i]; 'A' <= c && c <= 'Z' {
			b := []byte(text)
			for ; i < len(b); i++ {
				if c := b[i]; 'A' <= c && c <= 'Z' {
					b[i] = c + 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return text
}
