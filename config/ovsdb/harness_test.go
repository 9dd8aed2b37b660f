package ovsdb_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/config/internal/ovstest"
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
	names := ovstest.NewNames()
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
				names = ovstest.NewNames()
			case !strings.HasPrefix(line, "#"):
				ops.WriteString(line)
			}
		}
		if ops.Len() > 0 {
			results := run(names.Expand(ops.String()))
			names.Learn(ops.String(), results)
			out.WriteString("\n----\n" + names.Render(results))
		}
		out.WriteString("\n\n")
	}
	return out.String()
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
