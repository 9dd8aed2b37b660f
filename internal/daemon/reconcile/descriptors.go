package reconcile

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// spareDescriptors is how many file descriptors must be left when a device is opened. Without them the database could not be
// written nor a command be taken any more, not even the one that deletes a port.
const spareDescriptors = 32

// descriptorsLeft gives an error when there are fewer. The kernel does not tell how many there are, so it takes them for a moment.
func descriptorsLeft() error {
	fds := make([]int, 0, spareDescriptors)
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	for range spareDescriptors {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		if errors.Is(err, unix.EMFILE) {
			var limit unix.Rlimit
			_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) // cannot fail; 0 would be told
			return fmt.Errorf("too few file descriptors: %d are left, and a new port must leave %d of the limit of %d (RLIMIT_NOFILE)",
				len(fds), spareDescriptors, limit.Cur)
		}
		if err != nil {
			return fmt.Errorf("file descriptors: %w", err)
		}
		fds = append(fds, fd)
	}
	return nil
}
