package jsonrpc

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// MaxSocketPath is the longest path that fits in sockaddr_un (unix(7)) with
// its terminating zero.
const MaxSocketPath = 107

// ListenUnix makes a listening stream socket at path with the given
// permissions, in force before the first connection can be made. gid is the
// owning group, or -1 to leave it. A socket left behind by a process that is
// gone is replaced; a socket that answers, or a file of another kind, is left
// alone and gives an error. Closing the listener removes the file.
func ListenUnix(path string, mode fs.FileMode, gid int) (*net.UnixListener, error) {
	if len(path) > MaxSocketPath {
		return nil, fmt.Errorf("socket path %q: %d bytes, the limit is %d", path, len(path), MaxSocketPath)
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return nil, fmt.Errorf("socket %s: bind: %w", path, err)
	}
	l, err := listenBound(f, path, mode, gid)
	if err != nil {
		_ = os.Remove(path)
		return nil, err
	}
	return l, nil
}

// listenBound sets the permissions before listen(2): until then every
// connection attempt is refused.
func listenBound(f *os.File, path string, mode fs.FileMode, gid int) (*net.UnixListener, error) {
	if err := os.Chmod(path, mode); err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if gid >= 0 {
		if err := os.Chown(path, -1, gid); err != nil {
			return nil, fmt.Errorf("socket: %w", err)
		}
	}
	if err := unix.Listen(int(f.Fd()), unix.SOMAXCONN); err != nil {
		return nil, fmt.Errorf("socket %s: listen: %w", path, err)
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	ul := l.(*net.UnixListener)
	ul.SetUnlinkOnClose(true)
	return ul, nil
}

func removeStale(path string) error {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	if st.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("socket %s: a file that is no socket is in the way", path)
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		c.Close()
		return fmt.Errorf("socket %s: another process listens there", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("socket %s: cannot tell whether it is in use: %w", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("socket: stale file: %w", err)
	}
	return nil
}
