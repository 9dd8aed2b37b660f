package ovsdb_test

import (
	"os"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// Whatever a client sends as operations, the answer has one element for each,
// and one more if the commit failed; a transaction that failed changed nothing.
func FuzzExecute(f *testing.F) {
	text, err := os.ReadFile(transactions)
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "[") {
			f.Add(line)
		}
	}
	schema := readSchema(f, "testdata/test.ovsschema")
	f.Fuzz(func(t *testing.T, in string) {
		v, err := ovsdb.DecodeJSON([]byte(in))
		ops, ok := v.([]any)
		if err != nil || !ok {
			return
		}
		db := ovsdb.NewDB(schema)
		for range 2 {
			before := rowCount(db)
			out := db.Execute(ops, ovsdb.Env{})
			if _, err := ovsdb.EncodeJSON(out.Results); err != nil {
				t.Fatalf("results: %v", err)
			}
			switch n := len(out.Results); {
			case out.Blocked:
			case n != len(ops) && (n != len(ops)+1 || !out.Failed()):
				t.Fatalf("%d results for %d operations", n, len(ops))
			}
			if out.Failed() && (len(out.Changes) > 0 || rowCount(db) != before) {
				t.Fatal("a failed transaction changed something")
			}
		}
	})
}

func rowCount(db *ovsdb.DB) int {
	n := 0
	for _, t := range db.Schema().Tables {
		n += len(db.Rows(t))
	}
	return n
}

// A value that is accepted has a wire form that gives it back, and differences
// between values can be applied.
func FuzzValue(f *testing.F) {
	schema := readSchema(f, "testdata/test.ovsschema")
	table := schema.Tables["Types"]
	f.Add("m", `["map",[["a","b"],["c","d"]]]`, `["map",[["a","x"]]]`)
	f.Add("is", `["set",[1,2,3]]`, `5`)
	f.Add("r", `1.5e3`, `-0.0`)
	f.Add("u", `["uuid","550e8400-e29b-41d4-a716-446655440000"]`, `["uuid","550E8400-E29B-41D4-A716-446655440000"]`)
	f.Add("oi", `["set",[]]`, `9223372036854775807`)
	f.Add("s", `"\u0000"`, `"\ud800"`)
	f.Fuzz(func(t *testing.T, column, a, b string) {
		c := table.Column(column)
		if c == nil {
			return
		}
		x, okX := parseValue(t, c, a)
		y, okY := parseValue(t, c, b)
		if !okX || !okY {
			return
		}
		if x.Equal(y) != (x.Compare(y) == 0) {
			t.Fatalf("Equal and Compare disagree on %s and %s", x, y)
		}
		if got := c.Type.Apply(x, c.Type.Diff(x, y)); !got.Equal(y) {
			t.Fatalf("%s with the difference to %s gives %s", x, y, got)
		}
	})
}

func parseValue(t *testing.T, c *ovsdb.Column, text string) (ovsdb.Datum, bool) {
	v, err := ovsdb.DecodeJSON([]byte(text))
	if err != nil {
		return ovsdb.Datum{}, false
	}
	d, err := c.Type.Parse(v, nil)
	if err != nil {
		return ovsdb.Datum{}, false
	}
	if err := c.Type.Check(d); err != nil {
		t.Fatalf("parsed, but not valid: %v", err)
	}
	again, err := c.Type.Parse(decoded(t, c.Type.JSON(d)), nil)
	if err != nil || !again.Equal(d) {
		t.Fatalf("%s becomes %s: %v", d, again, err)
	}
	return d, true
}

// Any text is a schema or an error.
func FuzzParseSchema(f *testing.F) {
	b, err := os.ReadFile("testdata/test.ovsschema")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(b))
	f.Add(`{"name":"X","tables":{"T":{"columns":{"c":{"type":{"key":{"type":"integer","enum":["set",[1]]},"max":"unlimited"}}},"indexes":[["c"]]}}}`)
	f.Fuzz(func(t *testing.T, in string) {
		s, err := ovsdb.ParseSchema([]byte(in))
		if err != nil {
			return
		}
		if again, err := ovsdb.ParseSchema(s.JSON()); err != nil || string(again.JSON()) != string(s.JSON()) {
			t.Fatalf("does not survive: %v", err)
		}
		ovsdb.NewDB(s)
	})
}
