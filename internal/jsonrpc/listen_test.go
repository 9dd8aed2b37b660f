package jsonrpc

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListenUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := ListenUnix(path, 0o660, os.Getgid())
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o660 {
		t.Errorf("mode %v, %v, want 0660", st.Mode(), err)
	}
	if _, err := ListenUnix(path, 0o600, -1); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("second listener: %v", err)
	}
	if c, err := net.Dial("unix", path); err != nil {
		t.Errorf("first listener harmed: %v", err)
	} else {
		c.Close()
	}
	// As after kill -9: the file stays, the listener is gone.
	l.SetUnlinkOnClose(false)
	l.Close()
	l, err = ListenUnix(path, 0o600, -1)
	if err != nil {
		t.Fatalf("stale socket was not replaced: %v", err)
	}
	l.Close()
	if _, err := os.Lstat(path); err == nil {
		t.Error("socket file left behind after Close")
	}
}

func TestListenUnixRefusals(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenUnix(file, 0o600, -1); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("plain file in the way: %v", err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "precious" {
		t.Errorf("plain file changed: %q, %v", b, err)
	}
	long := filepath.Join(dir, strings.Repeat("x", 120))
	if _, err := ListenUnix(long, 0o600, -1); err == nil || !strings.Contains(err.Error(), "107") {
		t.Errorf("long path: %v", err)
	}
}
