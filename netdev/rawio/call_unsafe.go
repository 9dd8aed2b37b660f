package rawio

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/packet"
)

func addrOf[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

func base(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// Write writes v's frame, writev(2).
func (v *Vector) Write(fd int) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(&v.parts)), uintptr(v.n))
	return errno
}

// Read reads one frame, readv(2): its net header into hdr, its first bytes into
// head, the rest into tail. It gives the length of all.
func Read(fd int, hdr, head, tail []byte) (int, unix.Errno) {
	parts := [3]iovec{{base(hdr), uint64(len(hdr))}, {base(head), uint64(len(head))}, {base(tail), uint64(len(tail))}}
	n, _, errno := unix.RawSyscall(unix.SYS_READV, uintptr(fd), uintptr(unsafe.Pointer(&parts)), uintptr(len(parts)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// Receive takes one datagram from a socket, recvfrom(2), and gives its true length,
// which may be more than b holds.
func Receive(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
		uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_TRUNC, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// SocketError takes the socket's pending error, if any, so that it does not wake
// anyone again.
func SocketError(fd int) {
	var v uint32
	n := uint32(4)
	_, _, _ = unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_ERROR,
		uintptr(unsafe.Pointer(&v)), uintptr(unsafe.Pointer(&n)), 0)
}

// mmsghdr is struct mmsghdr of a 64-bit platform.
type mmsghdr struct {
	name       uintptr
	namelen    uint32
	_          uint32
	iov        uintptr
	iovlen     uint64
	control    uintptr
	controllen uint64
	flags      uint32
	_          uint32
	sent       uint32
	_          uint32
}

// Batch is up to packet.MaxBurst frames for one call.
type Batch struct {
	msgs [packet.MaxBurst]mmsghdr
	vecs [packet.MaxBurst]Vector
}

// Vector is the batch's i'th frame, to fill.
func (b *Batch) Vector(i int) *Vector { return &b.vecs[i] }

// Send sends frames from (included) to to (excluded), sendmmsg(2), and gives how many
// were taken; an error is that of the first frame.
func (b *Batch) Send(fd, from, to int) (int, unix.Errno) {
	for i := from; i < to; i++ {
		b.msgs[i].iov = addrOf(&b.vecs[i].parts)
		b.msgs[i].iovlen = uint64(b.vecs[i].n)
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.msgs[from])),
		uintptr(to-from), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
