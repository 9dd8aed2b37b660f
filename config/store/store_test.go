package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/config/internal/ovstest"
	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/config/schema"
)

// run executes operations given as JSON and fails the test if they fail.
func run(t testing.TB, s *Store, ops string) ovsdb.Outcome {
	t.Helper()
	v, err := ovsdb.DecodeJSON([]byte(ops))
	if err != nil {
		t.Fatal(err)
	}
	out := s.DB().Execute(v.([]any), ovsdb.Env{Commit: s.Commit})
	if out.Failed() {
		t.Fatalf("%s: %s", ops, ovsdb.Canonical(out.Results))
	}
	return out
}

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path, schema.OpenVSwitch())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

const addBridge = `[
 {"op":"insert","table":"Open_vSwitch","row":{"bridges":["named-uuid","b"],"external_ids":["map",[["system-id","ünï \"x\"\n"]]]}},
 {"op":"insert","table":"Bridge","uuid-name":"b","row":{"name":"br0","ports":["named-uuid","p"]}},
 {"op":"insert","table":"Port","uuid-name":"p","row":{"name":"br0","interfaces":["named-uuid","i"],"trunks":["set",[1,2,3]]}},
 {"op":"insert","table":"Interface","uuid-name":"i","row":{"name":"br0","type":"internal","statistics":["map",[["rx_bytes",5]]]}},
 {"op":"comment","comment":"add\nbr0"}]`

// dump is all persistent content as text.
func dump(t testing.TB, db *ovsdb.DB) string {
	t.Helper()
	var lines []string
	for _, name := range db.Schema().TableNames() {
		tab := db.Schema().Tables[name]
		for id, r := range db.Rows(tab) {
			b, err := tab.AppendFile(nil, r)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%s %s %s", name, id, b))
		}
	}
	return ovsdb.StringSet(lines...).String()
}

func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conf.db")
	s := open(t, path)
	run(t, s, addBridge)
	want := dump(t, s.DB())
	_ = s.Close()
	s = open(t, path)
	if got := dump(t, s.DB()); got != want {
		t.Errorf("after reopening:\n%s\nwant\n%s", got, want)
	}
	tab := s.DB().Schema().Tables["Interface"]
	for _, r := range s.DB().Rows(tab) {
		if d := r.Get(tab.Column("statistics")); d.Len() != 0 {
			t.Errorf("ephemeral column was stored: %v", d)
		}
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != newFileMode {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

// OVS's own tool and server read our file.
func TestOVSReadsOurs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conf.db")
	s := open(t, path)
	run(t, s, addBridge)
	_ = s.Close()
	got := ovstest.Run(t, "ovsdb-tool", "query", path,
		`["Open_vSwitch",{"op":"select","table":"Port","where":[],"columns":["name","trunks"]}]`)
	if want := `[{"rows":[{"name":"br0","trunks":["set",[1,2,3]]}]}]` + "\n"; got != want {
		t.Errorf("ovsdb-tool query: %s, want %s", got, want)
	}
	if log := ovstest.Run(t, "ovsdb-tool", "show-log", path); !strings.Contains(log, "add") {
		t.Errorf("comment is not in the log:\n%s", log)
	}
	socket := ovstest.ServeFile(t, path)
	if got := ovstest.Run(t, "ovs-vsctl", "--no-wait", "--db=unix:"+socket, "list-br"); got != "br0\n" {
		t.Errorf("ovs-vsctl list-br on ovsdb-server: %q", got)
	}
}

// We read what OVS's server wrote, in all its records.
func TestReadsOVS(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conf.db")
	ovstest.Run(t, "ovsdb-tool", "create", path, "../schema/vswitch.ovsschema")
	socket := ovstest.ServeFile(t, path)
	vsctl := func(args ...string) string {
		t.Helper()
		return ovstest.Run(t, "ovs-vsctl", append([]string{"--no-wait", "--db=unix:" + socket}, args...)...)
	}
	vsctl("add-br", "br0", "--", "add-port", "br0", "p1", "tag=5", "trunks=1,2,3", "external_ids:a=b")
	vsctl("set", "Port", "p1", "tag=6", "trunks=2,3,4", "external_ids:a=c", "external_ids:d=e")
	vsctl("remove", "Port", "p1", "external_ids", "d", "--", "clear", "Port", "p1", "tag")
	vsctl("add-port", "br0", "p2", "--", "set", "Bridge", "br0", "other_config:x=y", "flood_vlans=4,5")
	vsctl("add", "Bridge", "br0", "flood_vlans", "6", "--", "del-port", "p2")
	vsctl("add-bond", "br0", "b0", "e0", "e1", "--", "add", "Bridge", "br0", "protocols", "OpenFlow10")
	if _, err := Open(path, schema.OpenVSwitch()); !errors.Is(err, ErrLocked) {
		t.Errorf("ovsdb-server has it open, got %v, want ErrLocked", err)
	}
	db, err := ReadOVSDBFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Everything that a select shows must be in what we read.
	for _, name := range db.Schema().TableNames() {
		tab := db.Schema().Tables[name]
		columns := make([]string, 0, len(tab.Columns))
		for _, c := range tab.Columns {
			if !c.Ephemeral {
				columns = append(columns, c.Name)
			}
		}
		query := fmt.Sprintf(`[{"op":"select","table":%q,"where":[],"columns":%s}]`, name, ovsdb.Canonical(columns))
		theirs, _ := ovsdb.DecodeJSON([]byte(ovstest.Run(t, "ovsdb-client", "transact", "unix:"+socket,
			`["Open_vSwitch",`+query[1:])))
		ops, _ := ovsdb.DecodeJSON([]byte(query))
		ours, _ := ovsdb.DecodeJSON([]byte(ovsdb.Canonical(db.Execute(ops.([]any), ovsdb.Env{}).Results)))
		names := ovstest.NewNames()
		if got, want := names.Hide(ours), names.Hide(theirs); got != want {
			t.Errorf("table %s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestSecondOpenIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conf.db")
	s := open(t, path)
	if _, err := Open(path, schema.OpenVSwitch()); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("second open: %v", err)
	}
	_ = s.Close()
	open(t, path)
}

// A process that was killed may hold the lock a little longer.
func TestOpenWaitsForTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conf.db")
	s := open(t, path)
	time.AfterFunc(100*time.Millisecond, func() { _ = s.Close() })
	again, err := Open(path, schema.OpenVSwitch())
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

func TestSymlinkStays(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.db"), filepath.Join(dir, "conf.db")
	_ = open(t, real).Close()
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	s := open(t, link)
	run(t, s, addBridge)
	if st, err := os.Lstat(link); err != nil || st.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link was replaced: %v %v", st.Mode(), err)
	}
	if db, err := ReadOVSDBFile(real); err != nil || len(db.Rows(db.Schema().Tables["Bridge"])) != 1 {
		t.Errorf("the link's file was not written: %v", err)
	}
}

// A transaction that cannot be stored does not take place.
func TestWriteFailure(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(dir, "conf.db"))
	run(t, s, addBridge)
	before := dump(t, s.DB())
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	v, _ := ovsdb.DecodeJSON([]byte(`[{"op":"update","table":"Open_vSwitch","where":[],"row":{"next_cfg":7}}]`))
	out := s.DB().Execute(v.([]any), ovsdb.Env{Commit: s.Commit})
	if e, ok := out.Results[len(out.Results)-1].(*ovsdb.Error); !ok || e.Tag != "I/O error" || len(out.Changes) != 0 {
		t.Errorf("results %s", ovsdb.Canonical(out.Results))
	}
	if got := dump(t, s.DB()); got != before {
		t.Errorf("memory changed:\n%s\nwas\n%s", got, before)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	run(t, s, `[{"op":"update","table":"Open_vSwitch","where":[],"row":{"next_cfg":8}}]`)
	db, err := ReadOVSDBFile(filepath.Join(dir, "conf.db"))
	if err != nil || dump(t, db) != dump(t, s.DB()) {
		t.Errorf("after the directory came back: %v", err)
	}
}

func TestEphemeralChangesWriteNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conf.db")
	s := open(t, path)
	run(t, s, addBridge)
	before, _ := os.Stat(path)
	run(t, s, `[{"op":"update","table":"Interface","where":[],"row":{"statistics":["map",[["rx_bytes",9]]]}}]`)
	if after, _ := os.Stat(path); !os.SameFile(before, after) {
		t.Error("the file was written")
	}
	run(t, s, `[{"op":"update","table":"Interface","where":[],"row":{"ofport":9}}]`)
	if after, _ := os.Stat(path); os.SameFile(before, after) {
		t.Error("the file was not written")
	}
}

// A file of an older schema is taken over; what has no place is named.
func TestConvert(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conf.db")
	old := strings.Replace(string(schema.OpenVSwitch().JSON()), `"8.3.2"`, `"8.3.0"`, 1)
	old = strings.Replace(old, `"fail_mode":`, `"failure":`, 1)
	sch, err := ovsdb.ParseSchema([]byte(old))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, sch)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s, addBridge)
	run(t, s, `[{"op":"update","table":"Bridge","where":[],"row":{"failure":"secure"}}]`)
	_ = s.Close()
	s = open(t, path)
	if len(s.Lost()) != 1 || !strings.Contains(s.Lost()[0], "column failure: not in the schema") {
		t.Errorf("lost: %q", s.Lost())
	}
	run(t, s, `[{"op":"update","table":"Bridge","where":[],"row":{"fail_mode":"secure"}}]`)
	if db, err := ReadOVSDBFile(path); err != nil || db.Schema().Version != "8.3.2" {
		t.Errorf("not rewritten: %v", err)
	}
	other, err := os.ReadFile("../ovsdb/testdata/test.ovsschema")
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	sch, _ = ovsdb.ParseSchema(other)
	if _, err := Open(path, sch); err == nil || !strings.Contains(err.Error(), "it is a database Open_vSwitch, not Test") {
		t.Errorf("another database: %v", err)
	}
}

func TestLeftoversAreRemoved(t *testing.T) {
	dir := t.TempDir()
	stale, other := filepath.Join(dir, ".conf.db123456"), filepath.Join(dir, ".conf.db.bak1")
	for _, f := range []string{stale, other} {
		if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open(t, filepath.Join(dir, "conf.db"))
	if _, err := os.Stat(stale); err == nil {
		t.Error("temporary file is still there")
	}
	if b, err := os.ReadFile(other); err != nil || !bytes.Equal(b, []byte("x")) {
		t.Error("another file was removed")
	}
}
