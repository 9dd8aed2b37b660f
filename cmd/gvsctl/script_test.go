package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what comes out into testdata and docs/man, for review")

// TestScripts runs the files of testdata/scripts, each on an empty database, with a switch that applies every change (see fakeSwitch). A
// line "$ ARGS" is a call of gvsctl; what follows is what it printed, on standard error behind "! ", and its status behind "? " unless it
// is 0. "$ NAME: ARGS" calls it under another name.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/scripts/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			db := ovsdbServer(t)
			fakeSwitch(t, db)
			got := playScript(string(text), db)
			if got == string(text) {
				return
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("%s: the output differs (-update writes it)\n%s", file, firstDifference(got, string(text)))
		})
	}
}

// playScript runs the calls of a script and returns it with the outputs that came.
func playScript(text, db string) string {
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		command, isCommand := strings.CutPrefix(line, "$ ")
		if !isCommand {
			if line == "" || strings.HasPrefix(line, "#") {
				fmt.Fprintln(&b, line)
			}
			continue
		}
		fmt.Fprintln(&b, line)
		name := "gvsctl"
		if n, rest, ok := strings.Cut(command, ": "); ok && strings.HasPrefix(n, "ovs-") {
			name, command = n, rest
		}
		o := call(nil, name, append([]string{"-t", "30", "--db=" + db}, words(command)...)...)
		out := normalize(o.stdout)
		for _, l := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
			switch {
			case out == "":
			case l == "":
				fmt.Fprintln(&b, "  (blank)")
			default:
				fmt.Fprintln(&b, strings.TrimRight("  "+l, " "))
			}
		}
		for _, l := range strings.Split(strings.TrimSuffix(o.stderr, "\n"), "\n") {
			if o.stderr != "" {
				fmt.Fprintln(&b, "! "+normalize(l))
			}
		}
		if o.status != 0 {
			fmt.Fprintf(&b, "? %d\n", o.status)
		}
	}
	return b.String()
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
