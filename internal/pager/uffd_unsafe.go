package pager

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// What golang.org/x/sys does not have of linux/userfaultfd.h.
const (
	userModeOnly = 1

	ioctlAPI      = 0xc018aa3f
	ioctlRegister = 0xc020aa00

	apiVersion   = 0xaa
	modeMissing  = 1
	featureShmem = 1 << 5
)

// openUserfault makes a userfaultfd for this process. With user-mode faults alone, which is all that
// is needed here, no privilege is.
func openUserfault() (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|unix.O_NONBLOCK|userModeOnly, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	api := [3]uint64{apiVersion, 0, 0} // no feature beyond what all have
	if err := ioctl(int(fd), ioctlAPI, unsafe.Pointer(&api)); err != nil {
		_ = unix.Close(int(fd))
		return -1, err
	}
	if api[1]&featureShmem == 0 {
		_ = unix.Close(int(fd))
		return -1, unix.EOPNOTSUPP
	}
	return int(fd), nil
}

// register lets pages that are missing in b be asked for.
func register(fd int, b []byte) error {
	r := [4]uint64{uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))), uint64(len(b)), modeMissing, 0}
	return ioctl(fd, ioctlRegister, unsafe.Pointer(&r))
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	if errno != 0 {
		return errno
	}
	return nil
}
