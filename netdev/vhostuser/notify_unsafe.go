package vhostuser

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// rwfNoWait is RWF_NOWAIT of linux/fs.h: an error in place of waiting, whatever the file's
// flags say.
const rwfNoWait = 8

// rawReadNow reads 8 bytes if they are there; EOPNOTSUPP if this kind of file cannot be
// read in this way.
//
//go:nosplit
func rawReadNow(fd int, b *[8]byte) unix.Errno {
	v := unix.Iovec{Base: &b[0], Len: 8}
	_, _, errno := unix.RawSyscall6(unix.SYS_PREADV2, uintptr(fd), uintptr(unsafe.Pointer(&v)), 1, ^uintptr(0), ^uintptr(0), rwfNoWait)
	return errno
}

// rawReceiveNow does so for a socket.
//
//go:nosplit
func rawReceiveNow(fd int, b *[8]byte) unix.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(b)), 8, unix.MSG_DONTWAIT, 0, 0)
	return errno
}

// mayWait reads or writes 8 bytes. Failure is as good as success to its callers.
func mayWait(call uintptr, fd int, b *[8]byte) {
	_, _, _ = unix.Syscall(call, uintptr(fd), uintptr(unsafe.Pointer(b)), 8)
}
