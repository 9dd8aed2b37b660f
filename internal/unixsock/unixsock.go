// Package unixsock is what all who make listening unix sockets have in common: how long
// a path may be, and what may be done about a file that is there already. It refuses
// to know what is spoken over the socket. Its functions may be called from anywhere;
// two processes that take over the same path at the same time are not kept apart.
package unixsock

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// MaxPath is the longest path in bytes that fits sockaddr_un (unix(7)) with its
// terminating zero.
const MaxPath = len(unix.RawSockaddrUnix{}.Path) - 1

// ErrInUse: a process listens on the socket.
var ErrInUse = errors.New("another process listens there")

// CheckPath says why the path cannot be a socket's.
func CheckPath(path string) error {
	if n := len(path); n > MaxPath {
		return fmt.Errorf("socket path %s has %d bytes, at most %d are possible", path, n, MaxPath)
	}
	return nil
}

// RemoveStale removes the socket that a process left behind that had no time to. One that
// answers gives ErrInUse, and is left alone, as is one that may be in use and a file
// of another kind. Nothing at the path is no error.
func RemoveStale(path string) error {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	if st.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket", path)
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		_ = c.Close()
		return fmt.Errorf("socket %s: %w", path, ErrInUse)
	}
	if !errors.Is(err, unix.ECONNREFUSED) { // such as EAGAIN: more wait than are accepted
		return fmt.Errorf("socket %s: cannot tell whether it is in use: %w", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("socket: stale file: %w", err)
	}
	return nil
}
