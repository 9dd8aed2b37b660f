//go:build !race

package megaflow

import "github.com/gvswitch/gvswitch/internal/mem"

// alloc is n bytes of zeroed memory outside the Go heap, 0 if there is none. n is a multiple of
// the page size.
func alloc(n int) uintptr {
	b, err := mem.Alloc(n)
	if err != nil {
		return 0
	}
	return mem.AddrOf(b)
}

// release gives memory of alloc back. Unmapping much takes long, so another thread
// does it.
func release(a uintptr, n int) {
	if n <= 1<<16 {
		_ = mem.Free(bytesAt(a, n))
		return
	}
	go func() { _ = mem.Free(bytesAt(a, n)) }()
}
