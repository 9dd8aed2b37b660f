package vhostuser

import "golang.org/x/sys/unix"

// Both descriptors are eventfds (QEMU, DPDK), pipes or stream sockets (User Mode
// Linux), set non-blocking. The calls go around the scheduler: they never
// block, and entering and leaving it costs more than they do.

// notify tells the driver of used buffers, with the 8 bytes that an eventfd wants
// and everybody takes. When the descriptor is full the driver has yet to
// look anyway, and when the driver is gone there is nobody to tell.
func notify(fd int) {
	one := [8]byte{1}
	rawIO(unix.SYS_WRITE, fd, &one)
}

// drain empties a kick descriptor, so that it is readable only for news. One read
// resets an eventfd; a stream may hold more, and what is left wakes once more.
func drain(fd int) {
	if fd >= 0 {
		var b [8]byte
		rawIO(unix.SYS_READ, fd, &b)
	}
}
