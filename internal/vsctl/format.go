package vsctl

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// formatDatum writes d in the form that parseDatum reads.
func formatDatum(t *ovsdb.ColumnType, d ovsdb.Datum) string {
	open, end := "", ""
	if t.Max > 1 || d.Len() == 0 {
		open, end = "[", "]"
		if t.IsMap() {
			open, end = "{", "}"
		}
	}
	return open + join(t, d, ", ", formatAtom) + end
}

// bareDatum writes d without punctuation, for scripts.
func bareDatum(t *ovsdb.ColumnType, d ovsdb.Datum) string { return join(t, d, " ", bareAtom) }

func join(t *ovsdb.ColumnType, d ovsdb.Datum, separator string, atom func(ovsdb.Atom) string) string {
	words := make([]string, d.Len())
	for i := range words {
		words[i] = atom(d.Key(i))
		if t.IsMap() {
			words[i] += "=" + atom(d.Value(i))
		}
	}
	return strings.Join(words, separator)
}

// formatAtom writes a so that it can be read back: a string that could be taken for something else is quoted.
func formatAtom(a ovsdb.Atom) string {
	switch {
	case a.Kind() == ovsdb.String && needsQuotes(a.Str()):
		return ovsdb.Canonical(a.Str())
	case a.Kind() == ovsdb.Real:
		return strconv.FormatFloat(a.Float(), 'g', -1, 64)
	default:
		return a.String()
	}
}

func bareAtom(a ovsdb.Atom) string {
	if a.Kind() == ovsdb.String {
		return a.Str()
	}
	return formatAtom(a)
}

func needsQuotes(s string) bool {
	if s == "" || s == "true" || s == "false" {
		return true
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		other := '0' <= c && c <= '9' || c == '-' || c == '.'
		if !letter && (i == 0 || !other) {
			return true
		}
	}
	_, err := ovsdb.ParseUUID(s)
	return err == nil
}

// datumCell is d in all the forms that a table may want.
func datumCell(t *ovsdb.ColumnType, d ovsdb.Datum) cell {
	return cell{text: formatDatum(t, d), bare: bareDatum(t, d), json: datumJSON(t, d)}
}

// datumJSON is the wire form of d.
func datumJSON(t *ovsdb.ColumnType, d ovsdb.Datum) json.RawMessage {
	b, err := ovsdb.EncodeJSON(t.JSON(d))
	if err != nil {
		panic(fmt.Sprintf("vsctl: cannot encode %v: %v", d, err)) // atoms are plain values
	}
	return b
}
