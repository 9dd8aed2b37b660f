package vhostuser

import "golang.org/x/sys/unix"

// Both descriptors are eventfds (QEMU, DPDK), pipes or stream sockets (User Mode
// Linux), set non-blocking, which the guest can undo (see guard). What does not wait in spite of that
// goes around the scheduler: entering and leaving it costs more than the call. A write may wait, and there the
// scheduler has to know: it stops all goroutines now and then, guard among them, and would wait for ever
// for a thread that it thinks is running.

// notify tells the driver of used buffers, with the 8 bytes that an eventfd wants
// and everybody takes. When the descriptor is full the driver has yet to
// look anyway, and when the driver is gone there is nobody to tell.
func notify(fd int) {
	one := [8]byte{1}
	mayWait(unix.SYS_WRITE, fd, &one)
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
		mayWait(unix.SYS_READ, fd, &b)
	}
}
