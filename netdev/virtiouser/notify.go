package virtiouser

import "golang.org/x/sys/unix"

// The descriptors are eventfds of our own, non-blocking; the back end has them, too, and may
// undo that: see guard. So the scheduler has to know of a write: it stops all goroutines now and then, and
// would wait for ever for a thread that it thinks is running.

// notify tells the back end of new buffers. When the descriptor is full it has yet to look anyway.
func notify(fd int) {
	one := [8]byte{1}
	mayWaitWrite(fd, &one)
}

// drain empties a call descriptor, so that it is readable only for news. It never waits.
func drain(fd int) {
	var b [8]byte
	rawReadNow(fd, &b)
}

// unblock makes descriptors non-blocking that are so no longer, lets whoever waits in one go,
// and tells whether there was any.
func unblock(fds []int) (found bool) {
	for _, fd := range fds {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil || flags&unix.O_NONBLOCK != 0 {
			continue
		}
		found = true
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_NONBLOCK)
		drain(fd)
	}
	return found
}
