package ovsdb_test

import (
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

func TestReaders(t *testing.T) {
	m := ovsdb.StringMap(map[string]string{"b": "2", "a": "1"})
	if v, ok := m.MapValue("a"); !ok || v != "1" {
		t.Errorf("MapValue: %q %v", v, ok)
	}
	if _, ok := m.MapValue("z"); ok {
		t.Error("MapValue of a key that is not there")
	}
	if m.String() != "a=1, b=2" {
		t.Errorf("String: %q", m)
	}
	var empty ovsdb.Datum
	if n, has := empty.Int(); n != 0 || has {
		t.Error("Int of an empty column")
	}
	if b, has := empty.Bool(); b || has || empty.Str() != "" || len(empty.StringMap()) != 0 {
		t.Error("readers of an empty column")
	}
	if got := ovsdb.NewSet(ovsdb.Int(3), ovsdb.Int(1), ovsdb.Int(3)).Ints(); len(got) != 2 || got[0] != 1 {
		t.Errorf("Ints: %v", got)
	}
	if ovsdb.Float(0) != ovsdb.Float(-1/inf()) {
		t.Error("minus zero is not zero")
	}
}

func inf() float64 { x := 1e308; return x * 10 }

func TestUUID(t *testing.T) {
	seen := make(map[ovsdb.UUID]bool)
	for range 100 {
		u := ovsdb.NewUUID()
		v, err := ovsdb.ParseUUID(strings.ToUpper(u.String()))
		if err != nil || v != u || seen[u] || u.IsZero() {
			t.Fatalf("%s: %v %v", u, v, err)
		}
		seen[u] = true
	}
	for _, bad := range []string{"", "x", "550e8400-e29b-41d4-a716-44665544000", "550e8400e29b-41d4-a716-4466554400000", "550e8400-e29b-41d4-a716-44665544000g"} {
		if _, err := ovsdb.ParseUUID(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// A weak reference in a map's value goes with its row. (ovsdb-server 3.1
// leaves it.)
func TestWeakMapValue(t *testing.T) {
	db := ovsdb.NewDB(readSchema(t, "testdata/test.ovsschema"))
	run := func(ops string) {
		t.Helper()
		if out := db.Execute(decodeOps(t, ops), ovsdb.Env{}); out.Failed() {
			t.Fatalf("%s: %s", ops, ovsdb.Canonical(out.Results))
		}
	}
	run(`[{"op":"insert","table":"Top","row":{"things":["set",[["named-uuid","a"],["named-uuid","b"]]],"weakmap":["map",[[1,["named-uuid","a"]],[2,["named-uuid","b"]]]]}},
	 {"op":"insert","table":"Thing","uuid-name":"a","row":{"name":"a","a":1}},{"op":"insert","table":"Thing","uuid-name":"b","row":{"name":"b","a":2}}]`)
	thing := db.Schema().Tables["Thing"]
	for id, r := range db.Rows(thing) {
		if r.Get(thing.Column("name")).Str() == "a" {
			run(`[{"op":"mutate","table":"Top","where":[],"mutations":[["things","delete",["uuid","` + id.String() + `"]]]}]`)
		}
	}
	top := db.Schema().Tables["Top"]
	for _, r := range db.Rows(top) {
		if d := r.Get(top.Column("weakmap")); d.Len() != 1 || d.Key(0).Int() != 2 {
			t.Errorf("weakmap %s", d)
		}
	}
}

func TestBadSchemas(t *testing.T) {
	table := func(s string) string { return `{"name":"X","tables":{"T":{"columns":{"c":` + s + `}}}}` }
	for text, want := range map[string]string{
		``:                               "EOF",
		`[]`:                             "Object expected",
		`{"name":"X"}`:                   "Required 'tables' member is missing",
		`{"name":"5","tables":{}}`:       "name must be a valid id",
		`{"name":"X","tables":{}}x`:      "text after",
		`{"name":"X","tables":{},"q":1}`: "Member 'q' is present but not allowed here",
		`{"name":"X","tables":{"T":{}}}`: "Required 'columns' member is missing",
		`{"name":"X","tables":{"_T":{"columns":{}}}}`: "bad table name",
		table(`{}`):              "Required 'type' member is missing",
		table(`{"type":"text"}`): "is not an atomic-type",
		table(`{"type":{"key":"integer","max":0}}`):                                                           "fails constraint checks",
		table(`{"type":{"key":"integer","min":2}}`):                                                           "fails constraint checks",
		table(`{"type":{"key":{"type":"integer","minInteger":5,"maxInteger":4}}}`):                            "minimum exceeds maximum",
		table(`{"type":{"key":{"type":"integer","minReal":5}}}`):                                              "not allowed here",
		table(`{"type":{"key":{"type":"uuid","refTable":"Z"}}}`):                                              "refers to table Z, which does not exist",
		table(`{"type":{"key":{"type":"uuid","refTable":"T","refType":"odd"}}}`):                              "refType must be",
		table(`{"type":"integer","ephemeral":5}`):                                                             "Type mismatch for member 'ephemeral'",
		`{"name":"X","tables":{"T":{"columns":{"c":{"type":"integer"}},"indexes":[["d"]]}}}`:                  "d is not a valid column name",
		`{"name":"X","tables":{"T":{"columns":{"c":{"type":"integer","ephemeral":true}},"indexes":[["c"]]}}}`: "may not be indexed",
	} {
		if _, err := ovsdb.ParseSchema([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
