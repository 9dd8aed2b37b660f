package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockFile takes the lock that ovsdb-server and ovsdb-tool take before they
// write a database: fcntl(2) on ".NAME.~lock~" beside it. Ours belongs to the
// open file, not the process, so it also keeps out a second Open in this one.
// The file stays behind, as OVS's does: removing it would let two processes
// lock two files of the same name.
func lockFile(path string) (*os.File, error) {
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".~lock~")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("database %s: lock: %w", path, err)
	}
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &whole)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return nil, fmt.Errorf("database %s: %w", path, ErrLocked)
	}
	return nil, fmt.Errorf("database %s: lock: %w", path, err)
}
