package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/version"
)

// The pid files' lock works between processes only, so the daemon of these tests is this test binary run again.
func TestMain(m *testing.M) {
	if dir := os.Getenv("GVSCTL_TEST_DAEMON"); dir != "" {
		if err := commandServer(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A run directory without a switch: the reason is likely that nobody serves it, for all of gvsctl's commands.
func TestNoSwitch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nix")
	for _, line := range []string{"show", "fdb/show br0", "dump-flows br0", "explain br0", "pcap -i p0"} {
		o := call(nil, "gvsctl", append([]string{"--run-dir", dir}, words(line)...)...)
		if o.status != 1 || !strings.Contains(o.stderr, "is gvswitchd running with this run directory (--run-dir)?") {
			t.Errorf("%s: %v", line, o)
		}
	}
	if o := call(nil, "ovs-appctl", "-t", dir+"/gvswitchd.ctl", "fdb/show", "br0"); o.status != 1 || strings.Contains(o.stderr, "run-dir") {
		t.Error(o)
	}
}

// commandServer serves a few commands in the form of gvswitchd's.
func commandServer(dir string) error {
	r, err := control.Claim(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	l, err := r.Listen()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := control.NewServer("gvswitchd (gvswitch) test")
	s.RegisterResult("fdb/show", "BRIDGE", 1, 1, func(_ context.Context, args []string) (control.Result, error) {
		if args[0] != "br0" {
			return control.Result{}, fmt.Errorf("no such bridge")
		}
		return control.Result{Text: " port  VLAN  MAC                Age\n", Value: []string{}}, nil
	})
	s.Register("dump-ports", "[BRIDGE] [PORT]", 0, 2, func(_ context.Context, args []string) (string, error) {
		return "dumped " + strings.Join(args, " "), nil
	})
	s.Register("hang", "", 0, 0, func(ctx context.Context, _ []string) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	s.Register("test/hang", "", 0, 0, func(ctx context.Context, _ []string) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	s.Register("exit", "", 0, 0, func(context.Context, []string) (string, error) {
		cancel()
		return "bye", nil
	})
	return s.Serve(ctx, l)
}

// daemon starts one and returns its run directory.
func daemon(t *testing.T) (dir string, ended chan error) {
	t.Helper()
	dir = t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GVSCTL_TEST_DAEMON="+dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended = make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		select {
		case <-ended:
		case <-time.After(60 * time.Second):
		}
	})
	waitFor(t, control.Socket(dir))
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := control.Target(dir, "ovs-vswitchd"); err == nil {
			break
		}
	}
	return dir, ended
}

// gvsctl finds the switch by the run directory.
func TestRuntimeCommands(t *testing.T) {
	dir, ended := daemon(t)
	for _, c := range []struct {
		line string
		want outcome
	}{
		{"fdb/show br0", outcome{stdout: " port  VLAN  MAC                Age\n"}},
		{"fdb/show br1", outcome{stderr: "no such bridge\ngvsctl: gvswitchd: server returned an error\n", status: 2}},
		{"fdb/show", outcome{stderr: "\"fdb/show\" command requires at least 1 arguments\ngvsctl: gvswitchd: server returned an error\n", status: 2}},
		{"no/such", outcome{stderr: "\"no/such\" is not a valid command (use \"list-commands\" to see a list of valid commands)\ngvsctl: gvswitchd: server returned an error\n", status: 2}},
		{"dump-ports br0 1", outcome{stdout: "dumped br0 1\n"}},
		{"version", outcome{stdout: "gvswitchd (gvswitch) test\n"}},
		{"--format=json fdb/show br0", outcome{stdout: "[]\n"}},
		{"--format=json version", outcome{stdout: `{"reply-format":"plain","reply":"gvswitchd (gvswitch) test\n"}` + "\n"}},
		{"-t1 test/hang", outcome{stderr: "gvsctl: test/hang: no reply from DIR/gvswitchd.ctl in time\n", status: 1}},
		{"exit", outcome{stdout: "bye\n"}},
	} {
		if c.line == "exit" {
			noRoom(t, dir)
		}
		got := call(map[string]string{"GVSWITCH_RUNDIR": dir}, "gvsctl", words(c.line)...)
		got.stderr = strings.ReplaceAll(got.stderr, dir, "DIR")
		if got != c.want {
			t.Errorf("%s: %v\nwant %v", c.line, got, c.want)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
	ended <- nil
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// noRoom checks that a reply that cannot be printed is no success.
func noRoom(t *testing.T, dir string) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	var stderr strings.Builder
	p := &program{name: "gvsctl", args: []string{"version"}, stdout: full, stderr: &stderr, getenv: func(string) string { return dir }}
	if status := p.run(); status != 1 || !strings.Contains(stderr.String(), "no space left") {
		t.Errorf("status %d, %q", status, stderr.String())
	}
}

// Under the name ovs-appctl it says and returns what Debian's does.
func TestAppctlDifferential(t *testing.T) {
	dir, _ := daemon(t)
	pid, err := os.ReadFile(filepath.Join(dir, "gvswitchd.pid"))
	if err != nil {
		t.Fatal(err)
	}
	byPid := filepath.Join(dir, "ovs-vswitchd."+strings.TrimSpace(string(pid))+".ctl")
	env := map[string]string{"OVS_RUNDIR": dir}
	t.Setenv("OVS_RUNDIR", dir)
	for _, args := range [][]string{
		{"version"},
		{"list-commands"},
		{"fdb/show", "br0"},
		{"fdb/show", "br1"},
		{"fdb/show"},
		{"fdb/show", "a", "b"},
		{"no/such"},
		{"--target=" + byPid, "version"},
		{"-t", byPid, "fdb/show", "br1"},
		{"-t", "/nonexistent", "version"},
		{"-t", "nosuch", "version"},
		{"-T", "5", "version"},
		{"--timeout=5", "dump-ports", "br0", "p 1"},
		{},
		{"--frob", "version"},
		{"-T", "x", "version"},
		{"-t"},
	} {
		want := callReal(t, "ovs-appctl", args...)
		got := call(env, "ovs-appctl", args...)
		want.stderr = withoutLog(want.stderr)
		if got.stderr != "" && want.stderr != "" && len(args) > 0 && (args[0] == "--frob" || args[0] == "-t" && len(args) == 1) {
			got.stderr, want.stderr = "getopt's own words", "getopt's own words"
		}
		if got != want {
			t.Errorf("%v\n=== ours: %v\n=== theirs: %v", args, got, want)
		}
	}
}

// withoutLog drops the lines that the real program's log adds.
func withoutLog(s string) string {
	var kept strings.Builder
	for _, l := range strings.SplitAfter(s, "\n") {
		if !logLine.MatchString(l) {
			kept.WriteString(l)
		}
	}
	return kept.String()
}

func TestVersionAndHelp(t *testing.T) {
	for _, c := range []struct {
		name, arg string
		want      string
	}{
		{"gvsctl", "--version", version.Line("gvsctl") + "\n"},
		{"gvsctl", "-V", version.Line("gvsctl") + "\n"},
		{"ovs-vsctl", "-V", version.Line("ovs-vsctl") + "\n"},
		{"ovs-appctl", "-V", version.Line("ovs-appctl") + "\n"},
		{"gvsctl", "--help", "add-port"},
		{"gvsctl", "-h", "fdb/show"},
		{"gvsctl", "help", "add-port"},
		{"ovs-vsctl", "--help", "add-port"},
		{"ovs-appctl", "--help", "list-commands"},
	} {
		if o := call(nil, c.name, c.arg); o.status != 0 || !strings.Contains(o.stdout, c.want) || o.stderr != "" {
			t.Errorf("%s %s: %v", c.name, c.arg, o)
		}
	}
}

// The run directory comes from the option, the variable, or the default, and decides about both sockets.
func TestRunDirectory(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		args []string
		want string
	}{
		{"gvsctl", nil, []string{"show"}, "unix:/run/gvswitch/db.sock"},
		{"gvsctl", map[string]string{"GVSWITCH_RUNDIR": "/nonexistent/x"}, []string{"show"}, "unix:/nonexistent/x/db.sock"},
		{"gvsctl", map[string]string{"GVSWITCH_RUNDIR": "/nonexistent/x"}, []string{"--run-dir", "/nonexistent/y", "show"}, "unix:/nonexistent/y/db.sock"},
		{"gvsctl", map[string]string{"OVS_RUNDIR": "/nonexistent/x"}, []string{"version"}, `"/run/gvswitch/gvswitchd.ctl"`},
		{"ovs-vsctl", map[string]string{"OVS_RUNDIR": "/nonexistent/o"}, []string{"show"}, "unix:/nonexistent/o/db.sock"},
		{"ovs-appctl", map[string]string{"OVS_RUNDIR": "/nonexistent/o"}, []string{"version"}, `"/nonexistent/o/ovs-vswitchd.pid"`},
	} {
		if o := call(c.env, c.name, c.args...); o.status != 1 || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%v: %v\nwant %s", c, o, c.want)
		}
	}
}
