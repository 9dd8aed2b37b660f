package ovsdb_test

import (
	"testing"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// What ReplaceOps carries over is all there, and nothing else is.
func TestReplaceOps(t *testing.T) {
	schema := readSchema(t, "testdata/test.ovsschema")
	from, to := ovsdb.NewDB(schema), ovsdb.NewDB(schema)
	fill := func(db *ovsdb.DB, ops string) {
		t.Helper()
		if out := db.Execute(decodeOps(t, ops), ovsdb.Env{}); out.Failed() {
			t.Fatal(ovsdb.Canonical(out.Results))
		}
	}
	fill(from, `[{"op":"insert","table":"Top","row":{"n":1,"things":["set",[["named-uuid","a"],["named-uuid","b"]]],"byname":["map",[["x",["named-uuid","b"]]]]}},
	 {"op":"insert","table":"Thing","uuid-name":"a","row":{"name":"a","a":1,"best":["named-uuid","b"]}},
	 {"op":"insert","table":"Thing","uuid-name":"b","row":{"name":"b","a":2,"self":["named-uuid","b"]}},
	 {"op":"insert","table":"Types","row":{"set3":["set",["q","r"]],"m1":["map",[["k",1]]],"eph":"gone","u":["uuid","550e8400-e29b-41d4-a716-446655440000"]}}]`)
	fill(to, `[{"op":"insert","table":"Top","row":{"n":7,"things":["named-uuid","z"]}},{"op":"insert","table":"Thing","uuid-name":"z","row":{"name":"a","a":9}}]`)
	for range 2 { // also when it is there already
		ops := decoded(t, from.ReplaceOps()).([]any)
		if out := to.Execute(ops, ovsdb.Env{}); out.Failed() {
			t.Fatal(ovsdb.Canonical(out.Results))
		}
	}
	query := decodeOps(t, `[{"op":"select","table":"Top","where":[],"columns":["n"]},{"op":"select","table":"Thing","where":[],"columns":["name","a"]},
	 {"op":"select","table":"Types","where":[],"columns":["set3","m1","eph","u"]}]`)
	got := ovsdb.Canonical(to.Execute(query, ovsdb.Env{}).Results)
	const want = `[{"rows":[{"n":1}]},{"rows":[{"a":1,"name":"a"},{"a":2,"name":"b"}]},` +
		`{"rows":[{"eph":"","m1":["map",[["k",1]]],"set3":["set",["q","r"]],"u":["uuid","550e8400-e29b-41d4-a716-446655440000"]}]}]`
	const other = `[{"rows":[{"n":1}]},{"rows":[{"a":2,"name":"b"},{"a":1,"name":"a"}]},` +
		`{"rows":[{"eph":"","m1":["map",[["k",1]]],"set3":["set",["q","r"]],"u":["uuid","550e8400-e29b-41d4-a716-446655440000"]}]}]`
	if got != want && got != other {
		t.Errorf("got %s", got)
	}
	top, thing := schema.Tables["Top"], schema.Tables["Thing"]
	for _, r := range to.Rows(top) {
		b, _ := r.Get(top.Column("byname")).Get(ovsdb.Str("x"))
		row := to.Row(thing, b.UUID())
		if row == nil || row.Get(thing.Column("name")).Str() != "b" || !row.Get(thing.Column("self")).Has(b) {
			t.Errorf("references: %v", row)
		}
	}
}
