package virtiouser

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// rwfNoWait is RWF_NOWAIT of linux/fs.h: an error in place of waiting, whatever the file's
// flags say.
const rwfNoWait = 8

// rawReadNow reads 8 bytes if they are there.
//
//go:nosplit
func rawReadNow(fd int, b *[8]byte) {
	v := unix.Iovec{Base: &b[0], Len: 8}
	_, _, _ = unix.RawSyscall6(unix.SYS_PREADV2, uintptr(fd), uintptr(unsafe.Pointer(&v)), 1, ^uintptr(0), ^uintptr(0), rwfNoWait)
}

// mayWaitWrite writes 8 bytes. Failure is as good as success to its callers.
func mayWaitWrite(fd int, b *[8]byte) {
	_, _, _ = unix.Syscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(b)), 8)
}
