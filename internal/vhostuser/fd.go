package vhostuser

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Kind is what a file descriptor from a front end turned out to be.
type Kind uint8

// The kinds that mean something here.
const (
	KindOther   Kind = iota
	KindEventFD      // eventfd(2)
	KindPipe         // pipe or FIFO
	KindStream       // AF_UNIX stream socket
	KindMemory       // regular file on tmpfs (a memfd is one) or hugetlbfs
)

var kindNames = [...]string{"file of another kind", "eventfd", "pipe", "AF_UNIX stream socket", "shared memory"}

// String is the kind for people.
func (k Kind) String() string { return kindNames[k] }

// notifies tells whether the kind can carry kicks and calls. (UML's call is a
// stream socket.)
func (k Kind) notifies() bool { return k == KindEventFD || k == KindPipe || k == KindStream }

// FD is a file descriptor from a front end and what is known about it. The
// session treats Num as an opaque number.
type FD struct {
	Num  int
	Kind Kind
	Size uint64    // of KindMemory: bytes in the file
	Page uint64    // of KindMemory: size of its pages, to which mappings are aligned
	ID   [2]uint64 // device and inode: two descriptors of one file have the same
}

// NoFD is no descriptor.
var NoFD = FD{Num: -1}

// Inspect looks at a descriptor. It cannot fail: what cannot be recognised is
// KindOther, and of no use.
func Inspect(num int) FD {
	fd := FD{Num: num}
	var st unix.Stat_t
	if unix.Fstat(num, &st) != nil {
		return fd
	}
	fd.ID = [2]uint64{st.Dev, st.Ino}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		var fs unix.Statfs_t
		if unix.Fstatfs(num, &fs) != nil {
			return fd
		}
		if t := uint32(fs.Type); t == unix.TMPFS_MAGIC || t == unix.HUGETLBFS_MAGIC {
			fd.Kind, fd.Size, fd.Page = KindMemory, uint64(st.Size), uint64(fs.Bsize)
		}
	case unix.S_IFIFO:
		fd.Kind = KindPipe
	case unix.S_IFSOCK:
		domain, err1 := unix.GetsockoptInt(num, unix.SOL_SOCKET, unix.SO_DOMAIN)
		typ, err2 := unix.GetsockoptInt(num, unix.SOL_SOCKET, unix.SO_TYPE)
		if err1 == nil && err2 == nil && domain == unix.AF_UNIX && typ == unix.SOCK_STREAM {
			fd.Kind = KindStream
		}
	case 0: // an anonymous inode; only /proc tells which
		var b [64]byte
		if n, err := unix.Readlink(fmt.Sprintf("/proc/self/fd/%d", num), b[:]); err == nil && strings.HasPrefix(string(b[:n]), "anon_inode:[eventfd]") {
			fd.Kind = KindEventFD
		}
	}
	return fd
}

// CloseFDs closes descriptors.
func CloseFDs(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
