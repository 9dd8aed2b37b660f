package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	db := ovsdbServer(t)
	if o := call(nil, "gvsctl", "--no-wait", "--db="+db, "add-br", "br0", "--", "add-port", "br0", "vm0"); o.status != 0 {
		t.Fatal(o)
	}
	for _, c := range []struct {
		line      string
		want, not string // words, separated by blanks, that must or must not be offered
	}{
		{"", "add-br set fdb/show bond/show import --no-wait --may-exist --db", "man completion --generate-bash-completion br0"},
		{"--no-wait", "add-br", ""},
		{"add-br br1 --", "add-br set", "--db"},
		{"--if-exists", "del-br", ""},
		{"del-br", "br0", "vm0 add-br"},
		{"add-port", "br0", "vm0"},
		{"add-port br0", "", "br0"},
		{"list-br -- del-port", "br0 vm0", ""},
		{"del-port br0", "vm0", "br1"},
		{"port-to-br", "vm0", ""},
		{"list", "Bridge Interface", "bridge"},
		{"list Interface", "vm0 br0", ""},
		{"set Interface vm0", "type options", "_uuid"},
		{"set Interface vm0 type=tap", "type options", ""},
		{"fdb/show", "br0", "vm0"},
		{"pcap -i", "vm0", "add-port"},
		{"show", "", "br0"},
		{"nosuch", "", "br0"},
		{"list Nosuch x", "", "br0"},
	} {
		o := call(nil, "gvsctl", append(append([]string{"--db=" + db}, words(c.line)...), completionFlag)...)
		got := strings.Fields(o.stdout)
		if o.status != 0 || o.stderr != "" {
			t.Errorf("%q: %v", c.line, o)
		}
		for _, w := range strings.Fields(c.want) {
			if !slices.Contains(got, w) {
				t.Errorf("%q: %s is not offered, only %v", c.line, w, got)
			}
		}
		for _, w := range strings.Fields(c.not) {
			if slices.Contains(got, w) {
				t.Errorf("%q: %s is offered", c.line, w)
			}
		}
	}
	if o := call(nil, "gvsctl", "--db=unix:/nonexistent", "del-br", completionFlag); o != (outcome{}) {
		t.Errorf("without a database: %v", o)
	}
}

// A real bash loads the script and completes with it.
func TestBashScript(t *testing.T) {
	script := call(nil, "gvsctl", "completion", "bash")
	if script.status != 0 {
		t.Fatal(script)
	}
	dir := t.TempDir()
	fake := filepath.Join(dir, "gvsctl")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\n[ \"$*\" = '--no-wait add-br --generate-bash-completion' ] && printf 'br0\\nbr1\\nxx\\n'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	test := script.stdout + "COMP_WORDS=(" + fake + " --no-wait add-br b); COMP_CWORD=3; _gvsctl; echo \"${COMPREPLY[*]}\"\n"
	out, err := exec.Command("bash", "-c", test).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "br0 br1" {
		t.Errorf("got %q, %v", out, err)
	}
	if o := call(nil, "gvsctl", "completion", "csh"); o.status != 1 || !strings.Contains(o.stderr, `"csh"`) {
		t.Error(o)
	}
}

// The manual page in docs/man is the one that the program prints.
func TestManualPage(t *testing.T) {
	const path = "../../docs/man/gvsctl.8"
	o := call(nil, "gvsctl", "man")
	if o.status != 0 || o.stderr != "" {
		t.Fatal(o)
	}
	if *update {
		if err := os.WriteFile(path, []byte(o.stdout), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil || string(page) != o.stdout {
		t.Errorf("%s is not what the program prints (%v); go generate ./cmd/gvsctl writes it", path, err)
	}
	for _, want := range []string{"add-port", "fdb/show", "import", "max-column-width"} {
		if !strings.Contains(strings.ReplaceAll(o.stdout, `\-`, "-"), want) {
			t.Errorf("%s is not in the manual page", want)
		}
	}
}
