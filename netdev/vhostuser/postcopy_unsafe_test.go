package vhostuser

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// wakeUserfault is UFFDIO_WAKE of one page.
func wakeUserfault(uffd int, addr uint64) {
	const ioctlWake = 0x8010aa02
	r := [2]uint64{addr, 4096}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(uffd), ioctlWake, uintptr(unsafe.Pointer(&r)))
}
