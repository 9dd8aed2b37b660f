package vsctl

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// schema is Open vSwitch's.
func schema(t testing.TB) *ovsdb.Schema {
	t.Helper()
	b, err := os.ReadFile("../../config/schema/vswitch.ovsschema")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ovsdb.ParseSchema(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Values that the comparison with ovs-vsctl (cmd/gvsctl) does not cover.
func TestParseDatum(t *testing.T) {
	s := schema(t)
	for _, c := range []struct{ column, in, want string }{
		{"Bridge.flood_vlans", "1, 2 ,3", "[1, 2, 3]"},
		{"Bridge.flood_vlans", "[ 1 2 ]", "[1, 2]"},
		{"Bridge.flood_vlans", "4-4", "[4]"},
		{"Bridge.flood_vlans", "-1-2", "error: constraint violation: -1 is not in the valid range 0 to 4095 (inclusive)"},
		{"Bridge.flood_vlans", "-", `error: "-" is not a valid integer or range`},
		{"Bridge.flood_vlans", "1-", `error: "1-" is not a valid integer or range`},
		{"Bridge.flood_vlans", "1-2-3", `error: "1-2-3" is not a valid integer or range`},
		{"Bridge.flood_vlans", "[1", `error: [1: missing "]" at end of data`},
		{"Bridge.flood_vlans", "1]", `error: 1]: unexpected "]" parsing set of up to 4096 integers`},
		{"Bridge.other_config", " { a = b , c=d } ", "{a=b, c=d}"},
		{"Bridge.other_config", "a=1 b=2", `{a="1", b="2"}`},
		{"Bridge.other_config", `"a,b"="c=d"`, `{"a,b"="c=d"}`},
		{"Bridge.other_config", `a\,b=c`, `{"a,b"=c}`},
		{"Bridge.other_config", `a="\u00fc"`, `{a="ü"}`},
		{"Bridge.other_config", `a="\x"`, "error: \"\\x\": invalid character 'x' in string escape code"},
		{"Bridge.other_config", "a=", `error: An empty string is not valid as input; use "" to represent the empty string`},
		{"Bridge.other_config", "{}x", `error: {}x: trailing garbage after "}"`},
		{"Port.bond_updelay", "9223372036854775807", "9223372036854775807"},
		{"Port.bond_updelay", "9223372036854775808", `error: "9223372036854775808" is not a valid integer or range`},
		{"Port.fake_bridge", "on", "true"},
		{"Port.qos", "@q", `error: "@q" is not a valid UUID`},
		{"Interface.type", "true", `"true"`},
		{"Interface.type", "12345678-1234-1234-1234-123456789abc", `"12345678-1234-1234-1234-123456789abc"`},
	} {
		table, column, _ := strings.Cut(c.column, ".")
		typ := &s.Tables[table].Column(column).Type
		d, err := parseDatum(typ, c.in, nil)
		got := formatDatum(typ, d)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%s=%s:\n got %s\nwant %s", c.column, c.in, got, c.want)
		}
	}
}

func TestReal(t *testing.T) {
	s, err := ovsdb.ParseSchema([]byte(`{"name":"X","tables":{"T":{"columns":{"r":{"type":"real"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	typ := &s.Tables["T"].Column("r").Type
	for in, want := range map[string]string{"1": "1", "-2.5": "-2.5", "1e3": "1000", "-0": "0", "x": `"x" is not a valid real number`} {
		d, err := parseDatum(typ, in, nil)
		got := formatDatum(typ, d)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// randomDatum is any value of a set or map of strings or integers, with what needs quotes.
func randomDatum(r *rand.Rand, t *ovsdb.ColumnType) ovsdb.Datum {
	words := []string{"a", "b-c", "", "true", "x y", `q"q`, `b\`, "ü", "1", "@n", "a=b", "[", "}", "\n", "12345678-1234-1234-1234-123456789abc"}
	atom := func(k ovsdb.Kind) ovsdb.Atom {
		if k == ovsdb.Integer {
			return ovsdb.Int(r.Int64N(20))
		}
		return ovsdb.Str(words[r.IntN(len(words))])
	}
	pairs := make([]ovsdb.Pair, r.IntN(5))
	for i := range pairs {
		pairs[i].Key = atom(t.Key.Kind)
		if t.IsMap() {
			pairs[i].Value = atom(t.Value.Kind)
		}
	}
	return newDatum(t, pairs)
}

func propertyTypes(t testing.TB) map[string]*ovsdb.ColumnType {
	s := schema(t)
	return map[string]*ovsdb.ColumnType{
		"set of integers":  &s.Tables["Bridge"].Column("flood_vlans").Type,
		"set of strings":   &s.Tables["Open_vSwitch"].Column("iface_types").Type,
		"map of strings":   &s.Tables["Bridge"].Column("other_config").Type,
		"map with integer": &s.Tables["Interface"].Column("statistics").Type,
	}
}

// What is printed can be read, and means the same.
func TestFormatRoundTrip(t *testing.T) {
	for name, typ := range propertyTypes(t) {
		r := rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			d := randomDatum(r, typ)
			text := formatDatum(typ, d)
			back, err := parseDatum(typ, text, nil)
			if err != nil || !back.Equal(d) {
				t.Fatalf("%s: %s is read as %s, %v", name, text, formatDatum(typ, back), err)
			}
		}
	}
}

func TestSetOperations(t *testing.T) {
	for name, typ := range propertyTypes(t) {
		r := rand.New(rand.NewPCG(3, 4))
		for range 2000 {
			a, b := randomDatum(r, typ), randomDatum(r, typ)
			u, left := union(typ, a, b), subtract(typ, a, typ, b)
			switch {
			case !includes(typ, u, a):
				t.Fatalf("%s: %v lacks part of %v", name, u, a)
			case !typ.IsMap() && !includes(typ, u, b):
				t.Fatalf("%s: %v lacks part of %v", name, u, b)
			case count(typ, left, b) != 0:
				t.Fatalf("%s: %v still has part of %v", name, left, b)
			case left.Len()+count(typ, a, b) != a.Len():
				t.Fatalf("%s: %v less %v is %v", name, a, b, left)
			case compare(typ, a, "{<=}", b) != compare(typ, b, "{>=}", a):
				t.Fatalf("%s: {<=} and {>=} disagree on %v and %v", name, a, b)
			case compare(typ, a, "<", b) == compare(typ, a, ">=", b):
				t.Fatalf("%s: < and >= agree on %v and %v", name, a, b)
			case compare(typ, a, "{<}", b) && (compare(typ, a, "{=}", b) || !compare(typ, a, "{in}", b)):
				t.Fatalf("%s: {<} is wrong for %v and %v", name, a, b)
			}
		}
	}
}

func FuzzParseDatum(f *testing.F) {
	for _, s := range []string{"a=b", "{a=b,c=d}", "[1,2-5]", `"x\"y"`, `a\,b`, "@x", "{", "", ",", "a=b=c", "\\", `"`, "-1-1", "\xbe", `"\u0000"`} {
		f.Add(s)
	}
	types := propertyTypes(f)
	f.Fuzz(func(t *testing.T, s string) {
		for name, typ := range types {
			d, err := parseDatum(typ, s, newSymbols())
			if err != nil {
				continue
			}
			if back, err := parseDatum(typ, formatDatum(typ, d), nil); err != nil || !back.Equal(d) {
				t.Errorf("%s: %q is read as %s, which is not read back: %v", name, s, formatDatum(typ, d), err)
			}
		}
	})
}

func FuzzAssignment(f *testing.F) {
	for _, s := range []string{"a=b", "a:b=c", `a:"b c"=d`, "a{<=}1", "a!=1", "=", ":", `a:\`, `"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := splitAssignment(s, relops)
		if err == nil && (a.column == "" || a.value == "" || !strings.HasSuffix(s, a.operator+a.value)) {
			t.Errorf("%q is taken apart as %+v", s, a)
		}
		if _, err := splitReference(s); err == nil && s == "" {
			t.Error("nothing is taken for a column")
		}
	})
}
