package ready

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// control changes what epoll waits for. The call does not block.
func (w *Word) control(events uint32) {
	w.event.Events = events
	_, _, _ = unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(w.epfd), unix.EPOLL_CTL_MOD, uintptr(w.fd),
		uintptr(unsafe.Pointer(&w.event)), 0, 0)
}
