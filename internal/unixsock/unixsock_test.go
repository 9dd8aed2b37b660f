package unixsock

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCheckPath(t *testing.T) {
	if MaxPath != 107 {
		t.Errorf("the longest path has %d bytes", MaxPath)
	}
	if err := CheckPath(strings.Repeat("x", MaxPath)); err != nil {
		t.Error(err)
	}
	if err := CheckPath(strings.Repeat("x", MaxPath+1)); err == nil {
		t.Error("too long a path is accepted")
	}
}

func TestRemoveStale(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	if err := RemoveStale(path); err != nil {
		t.Errorf("nothing there: %v", err)
	}
	// Bound, and nobody accepts: the backlog fills up.
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	var full []net.Conn
	for range 10 {
		c, err := net.Dial("unix", path)
		if err != nil {
			break
		}
		full = append(full, c)
	}
	if err := RemoveStale(path); err == nil || errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "cannot tell") {
		t.Errorf("a socket with a full backlog: %v", err)
	}
	for _, c := range full {
		_ = c.Close()
	}
	_ = unix.Close(fd)
	if err := RemoveStale(path); err != nil {
		t.Errorf("a stale socket: %v", err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}

	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if err := RemoveStale(path); !errors.Is(err, ErrInUse) {
		t.Errorf("a socket in use: %v", err)
	}

	other := filepath.Join(dir, "link")
	if err := os.Symlink(path, other); err != nil {
		t.Fatal(err)
	}
	if err := RemoveStale(other); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("a link: %v", err)
	}
}
