package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// checked tells whether the daemon checks itself, which costs it memory and time.
var checked = os.Getenv("GVSWITCH_E2E_RACE") != ""

// TestMain builds the programs under test. With GVSWITCH_E2E_RACE=1 they look
// for their own data races while the tests run.
func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "gvsbin")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	// Tests run the daemon as other users, too.
	if err := os.Chmod(dir, 0o755); err != nil {
		return 0, err
	}
	args := []string{"build", "-o", dir + "/"}
	cgo := "CGO_ENABLED=0"
	if checked {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	cmd := exec.Command("go", append(args, "github.com/gvswitch/gvswitch/cmd/...")...)
	cmd.Env = append(os.Environ(), cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go build: %w: %s", err, out)
	}
	binDir = dir
	return m.Run(), nil
}
