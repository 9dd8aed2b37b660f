package ovstest

import (
	"fmt"
	"regexp"
	"sort"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// Names gives UUIDs, which differ from run to run, names that do not. A row
// inserted with the uuid-name NAME is called $NAME, any other $1, $2, ...
type Names struct {
	byName, byUUID map[string]string
	n              int
}

// NewNames knows no names yet.
func NewNames() *Names {
	return &Names{byName: map[string]string{}, byUUID: map[string]string{}}
}

var (
	// Which of two rows with equal indexes is called the first is chance.
	whichRow = regexp.MustCompile(`  First row, [^"]*`)
	dollar   = regexp.MustCompile(`\$[a-z]\w*`)
	uuidText = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

// Expand puts UUIDs in place of the names in text.
func (u *Names) Expand(ops string) string {
	return dollar.ReplaceAllStringFunc(ops, func(s string) string { return u.byName[s] })
}

// Learn takes the uuid-names of operations and their results.
func (u *Names) Learn(ops string, results any) {
	opsJSON, _ := ovsdb.DecodeJSON([]byte(u.Expand(ops)))
	list, _ := opsJSON.([]any)
	res, _ := results.([]any)
	for i, op := range list {
		o, _ := op.(map[string]any)
		name, _ := o["uuid-name"].(string)
		if name == "" || i >= len(res) {
			continue
		}
		if m := uuidText.FindString(ovsdb.Canonical(res[i])); m != "" {
			u.byName["$"+name] = m
			u.byUUID[m] = "$" + name
		}
	}
}

// Render gives one line for each result, rows of a select in order.
func (u *Names) Render(results any) string {
	list, ok := results.([]any)
	if !ok {
		list = []any{results}
	}
	lines := make([]string, len(list))
	for i, r := range list {
		lines[i] = u.Hide(r)
	}
	return strings.Join(lines, "\n")
}

// Hide gives a value as JSON with names in place of UUIDs, sets in order.
func (u *Names) Hide(v any) string {
	if o, ok := v.(map[string]any); ok {
		if rows, ok := o["rows"].([]any); ok {
			lines := make([]string, len(rows))
			for i, r := range rows {
				if row, ok := r.(map[string]any); ok && row["_version"] != nil {
					row["_version"] = "V"
				}
				lines[i] = u.Hide(r)
			}
			sort.Strings(lines)
			return "rows:\n  " + strings.Join(lines, "\n  ")
		}
	}
	text := uuidText.ReplaceAllStringFunc(ovsdb.Canonical(v), func(s string) string {
		if strings.HasPrefix(s, "00000000") {
			return s
		}
		if u.byUUID[s] == "" {
			u.n++
			u.byUUID[s] = fmt.Sprintf("$%d", u.n)
		}
		return u.byUUID[s]
	})
	text = whichRow.ReplaceAllString(text, "")
	named, err := ovsdb.DecodeJSON([]byte(text))
	if err != nil {
		return text
	}
	sortSets(named)
	return ovsdb.Canonical(named)
}

func sortJSON(list []any) {
	sort.Slice(list, func(i, j int) bool { return ovsdb.Canonical(list[i]) < ovsdb.Canonical(list[j]) })
}

// sortSets puts sets and rows in order again, now that the UUIDs have names.
func sortSets(v any) {
	switch v := v.(type) {
	case map[string]any:
		if rows, ok := v["rows"].([]any); ok {
			sortJSON(rows)
		}
		for _, e := range v {
			sortSets(e)
		}
	case []any:
		if len(v) == 2 && v[0] == "set" {
			list, _ := v[1].([]any)
			sortJSON(list)
		}
		for _, e := range v {
			sortSets(e)
		}
	}
}
