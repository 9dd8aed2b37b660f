package vsctl

import (
	"bytes"
	"regexp"
	"strings"
)

var (
	uuidPattern = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)
	htmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
)

// printHTML writes an HTML table in which each UUID links to the row of that name: the first cell of a row, if it is a UUID, is its anchor.
func (t *table) printHTML(b *bytes.Buffer, s Style) {
	b.WriteString("<table border=1>\n")
	if !s.NoHeadings {
		b.WriteString("  <tr>\n")
		for _, h := range t.headings {
			htmlCell(b, "th", h)
		}
		b.WriteString("  </tr>\n")
	}
	for _, row := range t.rows {
		b.WriteString("  <tr>\n")
		for x, c := range row {
			text := c.as(s.Data)
			if x == 0 && t.headings[x] == "_uuid" && len(text) == 36 {
				b.WriteString("    <td><a name=\"" + text + "\">" + text[:8] + "</a></td>\n")
				continue
			}
			htmlCell(b, "td", text)
		}
		b.WriteString("  </tr>\n")
	}
	b.WriteString("</table>\n")
}

func htmlCell(b *bytes.Buffer, element, text string) {
	b.WriteString("    <" + element + ">")
	for {
		at := uuidPattern.FindStringIndex(text)
		if at == nil {
			break
		}
		uuid := text[at[0]:at[1]]
		b.WriteString(htmlEscapes.Replace(text[:at[0]]) + `<a href="#` + uuid + `">` + uuid[:8] + "</a>")
		text = text[at[1]:]
	}
	b.WriteString(htmlEscapes.Replace(text) + "</" + element + ">\n")
}
