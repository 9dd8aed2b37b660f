package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	anyUUID    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	logLine    = regexp.MustCompile(`(?m)^\S+Z\|\d+\|\w+\|(WARN|ERR)\|`)
	slowLine   = regexp.MustCompile(`(?m)^\S+Z\|\d+\|(timeval|poll_loop)\|.*\n`)
	anchor     = regexp.MustCompile(`>[0-9a-f]{8}</a>`)
	socketPath = regexp.MustCompile(`unix:\S+db\.sock`)
)

// normalize takes out of an output what two databases cannot have in common.
func normalize(s string) string {
	s = slowLine.ReplaceAllString(s, "")           // on a busy machine the real one tells how long it waited
	s = logLine.ReplaceAllString(s, "ovs-vsctl: ") // the real one warns through its log
	s = anyUUID.ReplaceAllString(s, "<uuid>")
	s = anchor.ReplaceAllString(s, "><uuid></a>")
	return socketPath.ReplaceAllString(s, "<db>")
}

// once drops repeated lines: some errors are told by the real one's log and by itself.
func once(s string) string {
	return strings.Join(slices.Compact(strings.Split(s, "\n")), "\n")
}

// sortLines is for outputs whose order depends on UUIDs.
func sortLines(s string) string {
	lines := strings.Split(s, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestDifferential gives the same commands to Debian's ovs-vsctl and, on other databases, to ours under its name: output, errors and exit
// status must be the same after each command, and the databases at the end. Ours works on an ovsdb-server and on gvswitchd's server. Each
// file of testdata/differential begins with an empty database; a line is a command, without the program's name. A line that begins with "~"
// is one whose output comes in no certain order.
func TestDifferential(t *testing.T) {
	files, err := filepath.Glob("testdata/differential/*")
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
			theirs := ovsdbServer(t)
			ours := map[string]string{"ovsdb-server": ovsdbServer(t), "gvswitchd's server": embeddedServer(t)}
			for n, line := range strings.Split(string(text), "\n") {
				line, unordered := strings.CutPrefix(line, "~")
				if line == "" || strings.HasPrefix(line, "#") {
					continue
				}
				args := words(line)
				want := withoutIDs(callReal(t, "ovs-vsctl", append([]string{"--no-wait", "--db=" + theirs}, args...)...), unordered)
				for server, db := range ours {
					got := withoutIDs(call(nil, "ovs-vsctl", append([]string{"--no-wait", "--db=" + db}, args...)...), unordered)
					if got != want {
						t.Errorf("line %d, %s: %s\n=== ours: %v\n=== theirs: %v", n+1, server, line, got, want)
					}
				}
			}
			want := dump(t, theirs)
			for server, db := range ours {
				if got := dump(t, db); got != want {
					t.Errorf("%s: the databases differ\n=== ours:\n%s\n=== theirs:\n%s", server, got, want)
				}
			}
		})
	}
}

// withoutIDs is an outcome without what two databases cannot have in common.
func withoutIDs(o outcome, unordered bool) outcome {
	o.stdout, o.stderr = normalize(o.stdout), once(normalize(o.stderr))
	if unordered {
		o.stdout = sortLines(o.stdout)
	}
	return o
}

// dump returns the content of a database, comparable with another's.
func dump(t *testing.T, db string) string {
	t.Helper()
	o := callReal(t, "ovsdb-client", "-f", "csv", "dump", db, "Open_vSwitch")
	if o.status != 0 {
		t.Fatal(o)
	}
	return sortLines(normalize(o.stdout))
}
