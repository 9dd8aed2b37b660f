package virtiouser

import "golang.org/x/sys/unix"

// The descriptors are eventfds of our own, non-blocking; the back end has them, too, and may
// undo that: see guard. The calls go around the scheduler.

// notify tells the back end of new buffers. When the descriptor is full it has yet to look anyway.
func notify(fd int) {
	one := [8]byte{1}
	rawIO(unix.SYS_WRITE, fd, &one)
}

// drain empties a call descriptor, so that it is readable only for news.
func drain(fd int) {
	var b [8]byte
	rawIO(unix.SYS_READ, fd, &b)
}

// guard makes descriptors non-blocking that are so no longer, lets whoever waits in one go,
// and tells whether there was any.
func guard(fds []int) (found bool) {
	for _, fd := range fds {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil || flags&unix.O_NONBLOCK != 0 {
			continue
		}
		found = true
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_NONBLOCK)
		drain(fd)
		notify(fd)
	}
	return found
}
