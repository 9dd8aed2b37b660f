package vhostuser

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/unixsock"
)

const (
	dyingWait     = 100 * time.Millisecond
	maxDyingWaits = 3
)

// dyingWaits counts the waits of all ports for a switch that is about to die.
var dyingWaits atomic.Int64

// socket is a listening socket and its file.
type socket struct {
	l    *net.UnixListener
	path string
	file os.FileInfo // as it was made: another one in its place is not ours to remove
}

// listen makes the socket. A socket that nobody listens on any more is replaced; nothing else
// that is in its place is.
func listen(set *settings) (*socket, error) {
	if err := makeRoom(set.path); err != nil {
		return nil, err
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		// The file gets the socket's own mode. Between bind and chown nobody but
		// the owner may connect.
		var err error
		if cerr := c.Control(func(fd uintptr) {
			if set.mode != 0 || set.group >= 0 {
				err = unix.Fchmod(int(fd), 0o600)
			}
		}); cerr != nil {
			return cerr
		}
		return err
	}}
	l, err := lc.Listen(context.Background(), "unix", set.path)
	if err != nil {
		return nil, err
	}
	s := &socket{l: l.(*net.UnixListener), path: set.path}
	s.l.SetUnlinkOnClose(false)
	if s.file, err = os.Lstat(set.path); err == nil {
		err = s.permit(set)
	}
	if err != nil {
		_ = s.close()
		return nil, err
	}
	return s, nil
}

// permit sets the owner and mode of the socket's file.
func (s *socket) permit(set *settings) error {
	if set.group >= 0 {
		if err := os.Lchown(s.path, -1, set.group); err != nil {
			return fmt.Errorf("options:socket-group: %w", err)
		}
	}
	mode := set.mode
	if mode == 0 && set.group >= 0 {
		mode = 0o660
	}
	if mode != 0 {
		if err := os.Chmod(s.path, os.FileMode(mode)); err != nil {
			return fmt.Errorf("options:socket-mode: %w", err)
		}
	}
	return nil
}

// close ends listening and removes the file.
func (s *socket) close() error {
	err := s.l.Close()
	if now, serr := os.Lstat(s.path); serr == nil && s.file != nil && os.SameFile(now, s.file) {
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}

// makeRoom removes what a switch left behind that had no time to. One that was killed a
// moment ago takes some time to die, which is waited for once in a process's life:
// the caller has other ports to see to, and tries again.
func makeRoom(path string) error {
	for {
		err := unixsock.RemoveStale(path)
		if !errors.Is(err, unixsock.ErrInUse) || dyingWaits.Add(1) > maxDyingWaits {
			return err
		}
		time.Sleep(dyingWait)
	}
}
