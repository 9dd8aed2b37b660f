package lint

import (
	"os/exec"
	"testing"
)

// tool runs one of the tools of tools/go.mod on the tree and returns what it
// printed.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"tool", "-modfile=tools/go.mod", name}, args...)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

func TestGofumpt(t *testing.T) {
	if out := tool(t, "gofumpt", "-l", "."); out != "" {
		t.Errorf("not formatted (make fmt):\n%s", out)
	}
}

func TestStaticcheck(t *testing.T) {
	tool(t, "staticcheck", "-checks=SA*,S1*,U1000", "-tags=soak", "./...")
}

func TestGolangciLint(t *testing.T) {
	tool(t, "golangci-lint", "run", "--allow-parallel-runners", "./...")
}

// The assembly and the files of the other architecture compile and vet, too.
func TestVetArm64(t *testing.T) {
	cmd := exec.Command("go", "vet", "./...")
	cmd.Dir = root
	cmd.Env = append(cmd.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go vet for arm64: %v\n%s", err, out)
	}
}
