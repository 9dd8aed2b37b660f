package schema

import (
	"encoding/json"
	"os"
	"os/exec"
	"reflect"
	"testing"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// Ours says the same as the one that Debian's ovs-vsctl and ovs-vswitchd use.
func TestSameAsOpenVSwitch(t *testing.T) {
	const path = "/usr/share/openvswitch/vswitch.ovsschema"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("package openvswitch-switch is needed: %v", err)
	}
	theirs, err := ovsdb.ParseSchema(b)
	if err != nil {
		t.Fatal(err)
	}
	ours := document(t, OpenVSwitch())
	// What later versions have. A database file of an earlier version is converted.
	if mirror := ours["tables"].(map[string]any)["Mirror"].(map[string]any)["columns"].(map[string]any); mirror["filter"] == nil {
		t.Error("Mirror has no column filter")
	} else {
		delete(mirror, "filter")
	}
	want := document(t, theirs)
	for _, d := range []map[string]any{ours, want} {
		delete(d, "version")
		delete(d, "cksum")
	}
	if !reflect.DeepEqual(ours, want) {
		t.Errorf("schema differs from %s", path)
	}
}

func document(t *testing.T, s *ovsdb.Schema) map[string]any {
	t.Helper()
	var d map[string]any
	if err := json.Unmarshal(s.JSON(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// OVS's own tool accepts the files.
func TestOvsdbToolAccepts(t *testing.T) {
	for file, want := range map[string]string{"vswitch.ovsschema": "8.3.2\n", "server.ovsschema": "1.2.0\n"} {
		out, err := exec.Command("ovsdb-tool", "schema-version", file).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s: %s %v, want %s", file, out, err, want)
		}
	}
}

func TestServerSchema(t *testing.T) {
	if s := Server(); s.Name != "_Server" || s.Tables["Database"] == nil {
		t.Errorf("got %s with tables %v", s.Name, s.TableNames())
	}
}
