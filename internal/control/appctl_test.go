package control

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// appctl runs the real ovs-appctl and returns its output and exit status.
func appctl(t *testing.T, env []string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command("ovs-appctl", args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// Debian's ovs-appctl finds the server by its socket and, given the run directory, by the pid file.
func TestRealAppctl(t *testing.T) {
	dir, _, _ := start(t)
	env := []string{"OVS_RUNDIR=" + dir}
	target := []string{"-t", Socket(dir)}
	for _, c := range []struct {
		args       []string
		out, err   string
		wantStatus int
	}{
		{args: []string{"version"}, out: "gvswitchd (test) 1.0\n"},
		{args: []string{"echo-args", "a b", `c"d`, "ü"}, out: "a b|c\"d|ü\n"},
		{args: []string{"nosuch"}, err: `"nosuch" is not a valid command`, wantStatus: 2},
		{args: []string{"two"}, err: `"two" command requires at least 1 arguments`, wantStatus: 2},
		{args: []string{"panics"}, err: "panics: internal error", wantStatus: 2},
	} {
		for _, prefix := range [][]string{target, nil} {
			out, errs, status := appctl(t, env, append(prefix[:len(prefix):len(prefix)], c.args...)...)
			if out != c.out || !strings.Contains(errs, c.err) || status != c.wantStatus {
				t.Errorf("%v %v: %q, %q, %d", prefix, c.args, out, errs, status)
			}
		}
	}
}

// After a clean end nothing is left, and ovs-appctl says so.
func TestRealAppctlAfterEnd(t *testing.T) {
	dir, _, stop := start(t)
	stop()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	_, errs, status := appctl(t, []string{"OVS_RUNDIR=" + dir}, "version")
	if want := fmt.Sprintf("cannot read pidfile %q", dir+"/ovs-vswitchd.pid"); status != 1 || !strings.Contains(errs, want) {
		t.Errorf("got %q, %d", errs, status)
	}
}
