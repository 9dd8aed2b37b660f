package jsonrpc

import (
	"fmt"
	"io/fs"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/unixsock"
)

// ListenUnix makes a listening stream socket at path with the given
// permissions, in force before the first connection can be made. gid is the
// owning group, or -1 to leave it. A socket left behind by a process that is
// gone is replaced; a socket that answers, or a file of another kind, is left
// alone and gives an error. Closing the listener removes the file.
func ListenUnix(path string, mode fs.FileMode, gid int) (*net.UnixListener, error) {
	if err := unixsock.CheckPath(path); err != nil {
		return nil, err
	}
	if err := unixsock.RemoveStale(path); err != nil {
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
