package mem

import "golang.org/x/sys/unix"

// Alloc gives n bytes of zeroed, page-aligned memory outside the Go heap: the
// collector neither scans nor moves it and its size does not count toward the
// heap limit. Free returns it.
func Alloc(n int) ([]byte, error) {
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
}

// Free returns memory of Alloc.
func Free(b []byte) error { return unix.Munmap(b) }
