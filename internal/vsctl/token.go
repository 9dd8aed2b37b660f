package vsctl

import (
	"fmt"
	"strings"
)

// delimiters end a token of an argument; see ovs-vsctl(8), "Database Values".
const delimiters = ":=, []{}!<>"

// token takes the first token off s. It ends before a delimiter that is neither quoted nor escaped; quotes, and what is escaped within
// them, stay in the token as they are, other backslashes go.
func token(s string) (tok, rest string, err error) {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\':
			if quoted {
				b.WriteByte(c)
			}
			if i++; i == len(s) {
				return "", "", fmt.Errorf("%s: backslash at end of argument", s)
			}
			b.WriteByte(s[i])
			continue
		case !quoted && strings.IndexByte(delimiters, c) >= 0:
			return b.String(), s[i:], nil
		case c == '"':
			quoted = !quoted
		}
		b.WriteByte(c)
	}
	if quoted {
		return "", "", fmt.Errorf("%s: quoted string extends past end of argument", s)
	}
	return b.String(), "", nil
}

// assignment is an argument of the form COLUMN[:KEY]OPERATOR VALUE in its parts.
type assignment struct {
	column   string
	key      string
	hasKey   bool
	operator string
	value    string
}

// splitReference parses COLUMN[:KEY].
func splitReference(arg string) (a assignment, err error) {
	a, rest, err := splitColumn(arg)
	if err == nil && rest != "" {
		err = fmt.Errorf("%s: trailing garbage \"%s\" in argument", arg, rest)
	}
	return a, err
}

// splitAssignment parses COLUMN[:KEY]OPERATOR VALUE. Of the operators that fit, the longest is meant.
func splitAssignment(arg string, operators []string) (assignment, error) {
	a, rest, err := splitColumn(arg)
	if err != nil {
		return a, err
	}
	for _, op := range operators {
		if len(op) > len(a.operator) && len(rest) > len(op) && strings.HasPrefix(rest, op) {
			a.operator = op
		}
	}
	if a.operator == "" {
		return a, fmt.Errorf("%s: argument does not end in %s followed by a value.", arg, alternatives(operators))
	}
	a.value = rest[len(a.operator):]
	return a, nil
}

func splitColumn(arg string) (a assignment, rest string, err error) {
	a.column, rest, err = token(arg)
	if err != nil {
		return a, "", err
	}
	if a.column == "" {
		return a, "", fmt.Errorf("%s: missing column name", arg)
	}
	if strings.HasPrefix(rest, ":") {
		a.hasKey = true
		a.key, rest, err = token(rest[1:])
	}
	return a, rest, err
}

// alternatives returns the words quoted: "a"; "a" or "b"; "a", "b", or "c".
func alternatives(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + w + `"`
	}
	switch n := len(quoted); {
	case n == 1:
		return quoted[0]
	case n == 2:
		return quoted[0] + " or " + quoted[1]
	default:
		return strings.Join(quoted[:n-1], ", ") + ", or " + quoted[n-1]
	}
}
