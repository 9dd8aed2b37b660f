package vsctl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// Style says how tables (of list and find) are printed; see ovs-vsctl(8), "Table Formatting Options".
type Style struct {
	Format         string // "list", "table", "html", "csv" or "json"
	Data           string // "string", "bare" or "json"
	NoHeadings     bool
	Pretty         bool // JSON with indentation
	MaxColumnWidth int  // of format "table"; 0 is unlimited
}

// Check names what is wrong with the style, if anything.
func (s Style) Check() error {
	switch s.Format {
	case "list", "table", "html", "csv", "json":
	default:
		return fmt.Errorf("unknown output format \"%s\"", s.Format)
	}
	switch s.Data {
	case "string", "bare", "json":
	default:
		return fmt.Errorf("unknown data format \"%s\"", s.Data)
	}
	return nil
}

// cell is one value in the forms that it may be printed in.
type cell struct {
	text, bare string
	json       json.RawMessage
}

func (c cell) as(data string) string {
	switch data {
	case "bare":
		return c.bare
	case "json":
		return string(c.json)
	default:
		return c.text
	}
}

// table is what list and find have to say.
type table struct {
	headings []string
	rows     [][]cell
}

// print writes the table. first is false if another one was printed before; formats other than html and json then start with a blank line.
func (t *table) print(b *bytes.Buffer, s Style, first bool) {
	if !first && s.Format != "html" && s.Format != "json" {
		b.WriteByte('\n')
	}
	switch s.Format {
	case "table":
		t.printColumns(b, s)
	case "html":
		t.printHTML(b, s)
	case "csv":
		t.printCSV(b, s)
	case "json":
		t.printJSON(b, s)
	default:
		t.printList(b, s)
	}
}

func (t *table) printList(b *bytes.Buffer, s Style) {
	for y, row := range t.rows {
		if y > 0 {
			b.WriteByte('\n')
		}
		for x, c := range row {
			if !s.NoHeadings {
				fmt.Fprintf(b, "%-20s: ", t.headings[x])
			}
			b.WriteString(c.as(s.Data))
			b.WriteByte('\n')
		}
	}
}

func (t *table) printColumns(b *bytes.Buffer, s Style) {
	widths := make([]int, len(t.headings))
	for _, row := range t.rows {
		for x, c := range row {
			widths[x] = max(widths[x], len(c.as(s.Data)))
		}
	}
	for x, h := range t.headings {
		if s.MaxColumnWidth > 0 {
			widths[x] = min(widths[x], s.MaxColumnWidth)
		}
		if !s.NoHeadings {
			widths[x] = max(widths[x], len(h))
		}
	}
	line := func(word func(x int) string) {
		var l strings.Builder
		for x, w := range widths {
			if x > 0 {
				l.WriteByte(' ')
			}
			text := word(x)
			text = text[:min(len(text), w)]
			l.WriteString(text)
			l.WriteString(strings.Repeat(" ", w-len(text)))
		}
		b.WriteString(strings.TrimRight(l.String(), " "))
		b.WriteByte('\n')
	}
	if !s.NoHeadings {
		line(func(x int) string { return t.headings[x] })
		line(func(x int) string { return strings.Repeat("-", widths[x]) })
	}
	for _, row := range t.rows {
		line(func(x int) string { return row[x].as(s.Data) })
	}
}

func (t *table) printCSV(b *bytes.Buffer, s Style) {
	line := func(n int, word func(x int) string) {
		for x := range n {
			if x > 0 {
				b.WriteByte(',')
			}
			text := word(x)
			if strings.ContainsAny(text, "\n\",") {
				text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
			}
			b.WriteString(text)
		}
		b.WriteByte('\n')
	}
	if !s.NoHeadings {
		line(len(t.headings), func(x int) string { return t.headings[x] })
	}
	for _, row := range t.rows {
		line(len(row), func(x int) string { return row[x].as(s.Data) })
	}
}

func (t *table) printJSON(b *bytes.Buffer, s Style) {
	out := struct {
		Data     [][]json.RawMessage `json:"data"`
		Headings []string            `json:"headings"`
	}{Data: make([][]json.RawMessage, 0, len(t.rows)), Headings: t.headings}
	for _, row := range t.rows {
		cells := make([]json.RawMessage, len(row))
		for x, c := range row {
			cells[x] = c.json
		}
		out.Data = append(out.Data, cells)
	}
	writeJSON(b, out, s.Pretty)
}

// writeJSON writes v on one line, or indented, with a final newline.
func writeJSON(b *bytes.Buffer, v any, pretty bool) {
	raw, err := ovsdb.EncodeJSON(v)
	if err != nil {
		panic(fmt.Sprintf("vsctl: cannot encode output: %v", err)) // made of strings and of JSON that was encoded before
	}
	if pretty {
		raw = indentJSON(raw)
	}
	b.Write(raw)
	b.WriteByte('\n')
}

// indentJSON is --pretty: each member and element on a line of its own, closing brackets at the end of the last one's.
func indentJSON(raw []byte) []byte {
	var b bytes.Buffer
	depth, quoted := 0, false
	line := func() { b.WriteString("\n" + strings.Repeat("  ", depth)) }
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		b.WriteByte(c)
		switch {
		case c == '\\' && quoted:
			i++
			b.WriteByte(raw[i])
		case c == '"':
			quoted = !quoted
		case quoted:
		case (c == '{' || c == '[') && raw[i+1] == c+2: // empty; closing brackets stand two after the opening ones in ASCII
			i++
			b.WriteByte(raw[i])
		case c == '{' || c == '[':
			depth++
			line()
		case c == '}' || c == ']':
			depth--
		case c == ',':
			line()
		case c == ':':
			b.WriteByte(' ')
		}
	}
	return b.Bytes()
}
