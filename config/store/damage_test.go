package store

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/config/schema"
)

// small is a database of few bytes.
func small(t testing.TB) (*ovsdb.Schema, []byte) {
	t.Helper()
	sch, err := ovsdb.ParseSchema([]byte(`{"name":"S","version":"1.0.0","tables":{
		"T":{"isRoot":true,"columns":{"n":{"type":"integer"},"m":{"type":{"key":"string","value":"string","min":0,"max":"unlimited"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "small.db")
	s, err := Open(path, sch)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run(t, s, `[{"op":"insert","table":"T","row":{"n":5,"m":["map",[["k","v"]]]}}]`)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sch, b
}

// refused checks that Open says what is wrong and where, and leaves the file.
func refused(t *testing.T, sch *ovsdb.Schema, content []byte, reason string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "conf.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, sch)
	if err == nil {
		_ = s.Close()
		t.Fatalf("opened, want refusal: %s", reason)
	}
	if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), reason) {
		t.Errorf("error %q, want the file and %q", err, reason)
	}
	if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, content) {
		t.Error("the file was changed")
	}
}

func TestDamagedFilesAreRefused(t *testing.T) {
	sch, whole := small(t)
	second := bytes.LastIndex(whole, []byte("OVSDB JSON"))
	edit := func(old, new string) []byte { return bytes.Replace(whole, []byte(old), []byte(new), 1) }
	record := func(text string) []byte { return appendRecord(bytes.Clone(whole[:second]), []byte(text)) }
	tests := []struct {
		name    string
		content []byte
		reason  string
	}{
		{"empty", nil, "the file is empty"},
		{"text", []byte("hello\n"), "record 1 at offset 0: no OVSDB record starts here"},
		{"zeros", make([]byte, 4096), "record 1 at offset 0: the file ends within the record's first line"},
		{"flipped bit", edit(`"n":5`, `"n":4`), "its checksum is wrong"},
		{"zeros at the end", append(bytes.Clone(whole), 0, 0, 0), "record 3 at offset"},
		{"rubbish at the end", append(bytes.Clone(whole), "OVSDB JSON 5\n"...), "record 3 at offset"},
		{"cut in the schema", whole[:second-10], "record 1 at offset 0: it should have"},
		{"cut in the rows", whole[:len(whole)-1], "but the file ends after"},
		{"clustered", []byte("OVSDB CLUSTER 10 0000000000000000000000000000000000000000\n"), "ovsdb-tool cluster-to-standalone"},
		{"negative length", edit("OVSDB JSON ", "OVSDB JSON -"), "record 1 at offset 0"},
		{"huge length", []byte("OVSDB JSON 99999999999999999999 0000000000000000000000000000000000000000\n"), "record 1 at offset 0"},
		{"unknown table", record(`{"X":{}}` + "\n"), "table X is not in the schema"},
		{"unknown column", record(`{"T":{"550e8400-e29b-41d4-a716-446655440000":{"z":1}}}` + "\n"), "No column z in table T"},
		{"bad UUID", record(`{"T":{"x":{}}}` + "\n"), "not a valid UUID"},
		{"bad value", record(`{"T":{"550e8400-e29b-41d4-a716-446655440000":{"n":"x"}}}` + "\n"), "expected integer"},
		{"no object", record("[]\n"), "not a JSON object"},
		{"no JSON", record("{\n"), "record 2 at offset"},
		{"delete of nothing", record(`{"T":{"550e8400-e29b-41d4-a716-446655440000":null}}` + "\n"), "not there"},
		{"no schema", appendRecord(nil, []byte("{}\n")), "Required 'name' member is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { refused(t, sch, tt.content, tt.reason) })
	}
}

// A file cut anywhere is refused. (Cut between its two records it is, by
// OVSDB's rules, a whole empty database.)
func TestCutAnywhere(t *testing.T) {
	_, whole := small(t)
	between := bytes.LastIndex(whole, []byte("OVSDB JSON"))
	for n := range whole {
		if _, err := decode(whole[:n], nil); (err == nil) != (n == between) {
			t.Errorf("cut to %d of %d bytes: %v", n, len(whole), err)
		}
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 0x40
		if _, err := decode(b, nil); err == nil {
			t.Errorf("bit flipped at %d: not noticed", i)
		}
	}
}

func TestNotAFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir, schema.OpenVSwitch()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("directory: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "no", "conf.db"), schema.OpenVSwitch()); err == nil {
		t.Error("missing directory: no error")
	}
}

// Any bytes give a database or an error; a database survives being written.
func FuzzDecode(f *testing.F) {
	_, whole := small(f)
	f.Add(whole)
	second := bytes.LastIndex(whole, []byte("OVSDB JSON"))
	for _, text := range []string{
		`{"_is_diff":true,"T":{"550e8400-e29b-41d4-a716-446655440000":{"n":4}}}`,
		`{"_date":5,"_comment":"x","T":{"550e8400-e29b-41d4-a716-446655440000":{"m":["map",[["a","b"]]]}}}`,
	} {
		f.Add(appendRecord(bytes.Clone(whole[:second]), []byte(text+"\n")))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		db, err := decode(b, nil)
		if err != nil {
			return
		}
		out, err := newEncoder(db).file("", testTime)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(out, nil)
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, out)
		}
		if got, want := dump(t, again), dump(t, db); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

// Records are checksummed, so fuzz their text apart.
func FuzzRecord(f *testing.F) {
	sch, _ := small(f)
	f.Add(`{"T":{"550e8400-e29b-41d4-a716-446655440000":{"n":4,"m":["map",[["a","b"]]]}}}`,
		`{"_is_diff":true,"T":{"550e8400-e29b-41d4-a716-446655440000":{"n":4,"m":["map",[["a","c"],["d","e"]]]}}}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		b := appendRecord(nil, append(bytes.Clone(sch.JSON()), '\n'))
		b = appendRecord(appendRecord(b, []byte(first)), []byte(second))
		if db, err := decode(b, sch); err == nil {
			dump(t, db)
		}
	})
}
