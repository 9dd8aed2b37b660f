package ovsdb_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

var rewrite = flag.Bool("rewrite", false, "write what ovsdb-server answers into testdata/transactions.txt")

// transcript runs the transactions of a file, each one JSON array of
// operations, and gives the file back with the answers filled in. The lines of
// a transaction end at "----", its answer at an empty line. "reset" starts an
// empty database. A row inserted with a "uuid-name" NAME is called $NAME from
// then on, in operations and answers; any other UUID becomes $1, $2, ...
func transcript(t *testing.T, text string, reset func(), run func(ops string) any) string {
	t.Helper()
	var out strings.Builder
	names := newUUIDNames()
	for block := range strings.SplitSeq(text, "\n\n") {
		in, _, _ := strings.Cut(block, "\n----")
		in = strings.TrimSpace(in)
		if in == "" {
			continue
		}
		out.WriteString(in)
		var ops strings.Builder
		for line := range strings.SplitSeq(in, "\n") {
			switch {
			case line == "reset":
				reset()
				names = newUUIDNames()
			case !strings.HasPrefix(line, "#"):
				ops.WriteString(line)
			}
		}
		if ops.Len() > 0 {
			results := run(names.expand(ops.String()))
			names.learn(ops.String(), results)
			out.WriteString("\n----\n" + names.render(results))
		}
		out.WriteString("\n\n")
	}
	return out.String()
}

type uuidNames struct {
	byName, byUUID map[string]string
	n              int
}

func newUUIDNames() *uuidNames {
	return &uuidNames{byName: map[string]string{}, byUUID: map[string]string{}}
}

var (
	// Which of two rows with equal indexes is called the first is chance.
	whichRow = regexp.MustCompile(`  First row, [^"]*`)
	dollar   = regexp.MustCompile(`\$[a-z]\w*`)
	uuidText = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

func (u *uuidNames) expand(ops string) string {
	return dollar.ReplaceAllStringFunc(ops, func(s string) string { return u.byName[s] })
}

func (u *uuidNames) learn(ops string, results any) {
	opsJSON, _ := ovsdb.DecodeJSON([]byte(u.expand(ops)))
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

// render gives one line for each result, rows of a select in order.
func (u *uuidNames) render(results any) string {
	list, ok := results.([]any)
	if !ok {
		list = []any{results}
	}
	lines := make([]string, len(list))
	for i, r := range list {
		lines[i] = u.hide(r)
	}
	return strings.Join(lines, "\n")
}

func (u *uuidNames) hide(v any) string {
	if o, ok := v.(map[string]any); ok {
		if rows, ok := o["rows"].([]any); ok {
			lines := make([]string, len(rows))
			for i, r := range rows {
				if row, ok := r.(map[string]any); ok && row["_version"] != nil {
					row["_version"] = "V"
				}
				lines[i] = u.hide(r)
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

// sortSets puts sets in order again, now that the UUIDs have names.
func sortSets(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			sortSets(e)
		}
	case []any:
		if len(v) == 2 && v[0] == "set" {
			list, _ := v[1].([]any)
			sort.Slice(list, func(i, j int) bool { return ovsdb.Canonical(list[i]) < ovsdb.Canonical(list[j]) })
		}
		for _, e := range v {
			sortSets(e)
		}
	}
}

func readSchema(t testing.TB, path string) *ovsdb.Schema {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ovsdb.ParseSchema(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// compareText reports the first blocks that differ.
func compareText(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n\n"), strings.Split(want, "\n\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Errorf("got:\n%s\nwant:\n%s", g[i], w[i])
		}
	}
	if len(g) != len(w) {
		t.Errorf("got %d blocks, want %d", len(g), len(w))
	}
}
