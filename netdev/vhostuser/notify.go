package vhostuser

import "golang.org/x/sys/unix"

// Both descriptors are eventfds (QEMU, DPDK), pipes or stream sockets (User Mode
// Linux), set non-blocking, which the guest can undo (see guard). The calls go around
// the scheduler: entering and leaving it costs more than they do.

// notify tells the driver of used buffers, with the 8 bytes that an eventfd wants
// and everybody takes. When the descriptor is full the driver has yet to
// look anyway, and when the driver is gone there is nobody to tell.
func notify(fd int) {
	one := [8]byte{1}
	rawIO(unix.SYS_WRITE, fd, &one)
}

// drain empties a kick descriptor, so that it is readable only for news. One read
// resets an eventfd; a stream may hold more, and what is left wakes once more.
// It never blocks, but for a pipe that the guest made blocking, on kernels before 6.5.
func drain(fd int) {
	if fd < 0 {
		return
	}
	var b [8]byte
	if rawReadNow(fd, &b) == unix.EOPNOTSUPP && rawReceiveNow(fd, &b) == unix.ENOTSOCK {
		rawIO(unix.SYS_READ, fd, &b)
	}
}
