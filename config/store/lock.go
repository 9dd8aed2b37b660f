package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockFile takes the lock that ovsdb-server and ovsdb-tool take before they
// write a database: fcntl(2) on ".NAME.~lock~" beside it. Ours belongs to the
// open file, not the process, so it also keeps out a second Open in this one.
// The file stays behind, as OVS's does: removing it would let two processes
// lock two files of the same name.
//
// It waits for a moment. A process that was killed holds its locks until the kernel has
// taken down its memory and closed its devices, and whoever starts the next one may not wait for that.
func lockFile(path string) (*os.File, error) {
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".~lock~")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("database %s: lock: %w", path, err)
	}
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	for waited := time.Duration(0); ; waited += lockPoll {
		err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &whole)
		if !locked(err) || waited >= lockWait {
			break
		}
		time.Sleep(lockPoll)
	}
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if locked(err) {
		return nil, fmt.Errorf("database %s: %w", path, ErrLocked)
	}
	return nil, fmt.Errorf("database %s: lock: %w", path, err)
}

const (
	lockWait = 2 * time.Second
	lockPoll = 10 * time.Millisecond
)

func locked(err error) bool { return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) }
