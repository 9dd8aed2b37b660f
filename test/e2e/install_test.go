package e2e

import (
	"context"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gvswitch/gvswitch/test/proc"
)

// What "make install" installs is complete and runs anywhere, also when the source
// is no git tree.
func TestInstall(t *testing.T) {
	ctx := context.Background()
	run := func(command string) string {
		t.Helper()
		out, err := proc.Run(ctx, "sh", "-c", command)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	tree, root := t.TempDir(), t.TempDir()
	run("cd ../.. && tar -c --exclude=.git --exclude=./bin . | tar -x -C " + tree)
	run("make -C " + tree + " install DESTDIR=" + root + " PREFIX=/usr VERSION=1.2.3")
	for file, words := range map[string]string{
		"sbin/gvswitchd":                           "",
		"bin/gvsctl":                               "",
		"bin/gvsgen":                               "",
		"lib/systemd/system/gvswitchd.service":     "ExecStart=/usr/sbin/gvswitchd",
		"share/man/man8/gvsctl.8":                  ".TH gvsctl 8",
		"share/man/man8/gvswitchd.8":               ".TH gvswitchd 8",
		"share/man/man8/gvsgen.8":                  ".TH gvsgen 8",
		"share/bash-completion/completions/gvsctl": "complete ",
	} {
		b, err := os.ReadFile(filepath.Join(root, "usr", file))
		if err != nil || !strings.Contains(string(b), words) {
			t.Errorf("%s: %v, want %q", file, err, words)
		}
	}
	for _, program := range []string{"sbin/gvswitchd", "bin/gvsctl", "bin/gvsgen"} {
		path := filepath.Join(root, "usr", program)
		if out := run(path + " --version"); !strings.Contains(out, "1.2.3") {
			t.Errorf("%s --version: %s", program, out)
		}
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if libs, err := f.ImportedLibraries(); err != nil || len(libs) > 0 {
			t.Errorf("%s is not static: %v, %v", program, libs, err)
		}
		_ = f.Close()
	}
	// Completion works in the shell.
	out := run(`bash -c '. ` + root + `/usr/share/bash-completion/completions/gvsctl; PATH=` + root + `/usr/bin:$PATH
		COMP_WORDS=(gvsctl add-) COMP_CWORD=1; _gvsctl; echo "${COMPREPLY[@]}"'`)
	if err := want(out, "add-br", "add-port"); err != nil {
		t.Errorf("completion: %v", err)
	}
}
