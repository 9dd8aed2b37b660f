package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is wrong with a command line is told in ovs-ofctl's words, and the status is its.
func TestOfctlArguments(t *testing.T) {
	for _, line := range []string{
		"", "add-flow", "add-flow br0", "add-flow br0 a b", "bogus", "--frob show br0", "show br0 --frob", "-O OpenFlow99 show x", "-F foo show x",
		"-Fnxm,any,foo show x", "-t 0 show x", "-t x show x", "--timeout=-1 show x", "--sort=foo dump-flows x", "--rsort=priority,tcp dump-flows x",
		"--read-only add-flow br0 actions=drop", "--read-only mod-port br0 1 up", "diff-flows a", "del-flows br0 tcp tcp", "dump-flows",
		"--strict --bundle --names mod-flows br0", "parse-flows /nonexistent/file", "mod-port br0 1",
	} {
		want := callReal(t, "ovs-ofctl", words(line)...)
		got := call(map[string]string{"OVS_RUNDIR": "/nonexistent"}, "ovs-ofctl", words(line)...)
		if want.stderr = withoutLog(want.stderr); got != want {
			t.Errorf("%s\n=== ours: %v\n=== theirs: %v", line, got, want)
		}
	}
}

// What Debian's ovs-ofctl says of flows and actions, ours says, too, but for the protocols of which it has no choice to make.
func TestOfctlParseDifferential(t *testing.T) {
	text, err := os.ReadFile("testdata/flows")
	if err != nil {
		t.Fatal(err)
	}
	theirs := func(args ...string) outcome {
		o := callReal(t, "ovs-ofctl", args...)
		var kept strings.Builder
		for line := range strings.Lines(withoutLog(o.stdout)) {
			if !strings.HasPrefix(line, "usable protocols") && !strings.HasPrefix(line, "chosen ") {
				// With its default it speaks of all tables where a table cannot be named.
				kept.WriteString(strings.Replace(strings.Replace(line, "NXT_FLOW_MOD", "OFPT_FLOW_MOD", 1), " table:255", "", 1))
			}
		}
		o.stdout = kept.String()
		return o
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		want, got := theirs("parse-flow", line), call(nil, "ovs-ofctl", "parse-flow", line)
		if got != want {
			t.Errorf("%s\n=== ours: %v\n=== theirs: %v", line, got, want)
		}
	}
	want, got := theirs("parse-flows", "testdata/flows"), call(nil, "ovs-ofctl", "parse-flows", "testdata/flows")
	if got != want {
		t.Errorf("=== ours: %v\n=== theirs: %v", got, want)
	}
}

// Two files compare as with ovs-ofctl, in an order that is always the same.
func TestDiffFlowsFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(a, "# one\npriority=7,actions=drop\ntable=1,tcp,tcp_dst=80,cookie=5,idle_timeout=9,actions=2,normal\nip,actions=flood\n")
	write(b, "ip,actions=flood\npriority=7,actions=drop\ntable=1,tcp,tcp_dst=80,cookie=5,idle_timeout=8,actions=2,normal\nactions=1\n")
	for _, files := range [][2]string{{a, a}, {a, b}, {b, a}} {
		want := callReal(t, "ovs-ofctl", "diff-flows", files[0], files[1])
		got := call(nil, "ovs-ofctl", "diff-flows", files[0], files[1])
		got.stdout, want.stdout, want.stderr = sortLines(got.stdout), sortLines(want.stdout), withoutLog(want.stderr)
		if got != want {
			t.Errorf("%s\n=== ours: %v\n=== theirs: %v", files, got, want)
		}
	}
	write(b, "priority=7,actions=drop\nfrob=1,actions=drop\n")
	if o := call(nil, "ovs-ofctl", "diff-flows", a, b); o.status != 1 || !strings.Contains(o.stderr, b+":2: ") {
		t.Error(o)
	}
}
