package virtiouser

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/mem"
)

// guestBase is where the card's memory begins for the back end, both as "guest physical" address
// and as address in this process, which is nobody's business. It is another one each time:
// DPDK's device side takes memory for the one that it has if only its addresses and size
// are the same, whatever descriptor comes with it.
func guestBase(generation int) uint64 { return uint64(1+generation%1024) << 32 }

const hugePage = 2 << 20

// memory is the card's memory: one memfd. It cannot be made shorter by whoever has the
// descriptor. (A hole can be punched into it, which on huge pages may end in SIGBUS: see Fault.)
type memory struct {
	fd    int
	bytes []byte
	guest uint64 // see guestBase
}

// newMemory makes memory of at least n bytes, of huge pages if there are any.
func newMemory(n int) (*memory, error) {
	if m, err := mapMemory((n+hugePage-1)&^(hugePage-1), unix.MFD_HUGETLB|unix.MFD_HUGE_2MB); err == nil {
		return m, nil
	}
	page := unix.Getpagesize()
	return mapMemory((n+page-1)&^(page-1), 0)
}

func mapMemory(n, flags int) (*memory, error) {
	fd, err := unix.MemfdCreate("virtio-user", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|flags)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	m := &memory{fd: fd}
	if err = unix.Ftruncate(fd, int64(n)); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err == nil {
		m.bytes, err = unix.Mmap(fd, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err == nil && flags != 0 {
		// Now, and not by a signal at first use, if there are too few pages after all.
		err = unix.Madvise(m.bytes, unix.MADV_POPULATE_WRITE)
	}
	if err != nil {
		m.close()
		return nil, fmt.Errorf("%d bytes of shared memory: %w", n, err)
	}
	return m, nil
}

// host is the address of byte off.
func (m *memory) host(off int) uintptr { return mem.AddrOf(m.bytes) + uintptr(off) }

// close unmaps it; the back end may have it still.
func (m *memory) close() {
	if m.bytes != nil {
		_ = unix.Munmap(m.bytes)
	}
	_ = unix.Close(m.fd)
}

// span is a range of host addresses.
type span struct{ from, to uintptr }

func (m *memory) span() *span { return &span{m.host(0), m.host(0) + uintptr(len(m.bytes))} }
