package schema

import (
	"os"
	"os/exec"
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
	if got, want := string(OpenVSwitch().JSON()), string(theirs.JSON()); got != want {
		t.Errorf("schema differs from %s", path)
	}
}

// OVS's own tool accepts the files.
func TestOvsdbToolAccepts(t *testing.T) {
	for file, want := range map[string]string{"vswitch.ovsschema": "8.3.1\n", "server.ovsschema": "1.2.0\n"} {
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
