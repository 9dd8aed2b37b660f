package virtiouser

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// rawIO reads or writes 8 bytes. Failure is as good as success to its callers.
//
//go:nosplit
func rawIO(call uintptr, fd int, b *[8]byte) {
	_, _, _ = unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(b)), 8)
}
