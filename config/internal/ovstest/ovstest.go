// Package ovstest helps tests that compare gvswitch's database with Open
// vSwitch's own programs: it runs them and makes their answers comparable.
// Tests fail when the programs are not installed.
package ovstest

import (
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// StartServer runs Debian's ovsdb-server on a new database of the schema file
// until the test ends, and returns its socket.
func StartServer(t testing.TB, schema string) (socket string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "conf.db")
	Run(t, "ovsdb-tool", "create", file, schema)
	return ServeFile(t, file)
}

// ServeFile runs Debian's ovsdb-server on a database file.
func ServeFile(t testing.TB, file string) (socket string) {
	t.Helper()
	dir := t.TempDir()
	socket = filepath.Join(dir, "db.sock")
	cmd := exec.Command("ovsdb-server", "--remote=punix:"+socket, "--unixctl="+filepath.Join(dir, "ctl"),
		"--log-file="+filepath.Join(dir, "log"), file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for range 500 {
		if c, err := net.Dial("unix", socket); err == nil {
			_ = c.Close()
			return socket
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("ovsdb-server does not listen")
	return ""
}

// Run runs a program to its end and returns what it printed; it fails the test
// if the program does.
func Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}
