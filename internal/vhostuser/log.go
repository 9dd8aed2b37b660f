package vhostuser

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/mem"
)

// logPage is how much of the guest's memory one bit of the log stands for, whatever
// size the pages of that memory have.
const logPage = 0x1000

// DirtyLog is a LogArea that is mapped here. Threads may mark at the same time, and the
// front end takes marks away meanwhile.
type DirtyLog struct {
	bytes []byte  // whole pages around it
	at    uintptr // of the first bit
	pages uint64  // that it has bits for
}

// MapLog maps the log.
func MapLog(a LogArea) (*DirtyLog, error) {
	page := max(a.FD.Page, uint64(unix.Getpagesize()))
	start := a.Offset &^ (page - 1)
	size := (a.Offset - start + a.Size + page - 1) &^ (page - 1)
	if size > 1<<40 {
		return nil, fmt.Errorf("log of %#x bytes: more than any guest has pages for", a.Size)
	}
	b, err := unix.Mmap(a.FD.Num, int64(start), int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("log: mmap of %#x bytes: %w", size, err)
	}
	// Bits are set in words of 32.
	return &DirtyLog{bytes: b, at: mem.AddrOf(b) + uintptr(a.Offset-start), pages: a.Size / 4 * 32}, nil
}

// Close unmaps the log. Nobody marks any more.
func (l *DirtyLog) Close() { _ = unix.Munmap(l.bytes) }

// Owns tells whether an address here lies in the log.
func (l *DirtyLog) Owns(addr uintptr) bool { return addr-mem.AddrOf(l.bytes) < uintptr(len(l.bytes)) }

// Mark marks what has been written to the n bytes, n > 0, at a guest-physical address.
// Between the writing and the mark there must be a mem.Fence: else this could find an old mark
// that the front end takes away before it sees what was written. Mark reports
// false, having marked what the log has bits for, if that is not all.
func (l *DirtyLog) Mark(guest, n uint64) bool {
	first, last := guest/logPage, (guest+n-1)/logPage
	if last < first {
		return false
	}
	all := last < l.pages
	if !all {
		last = l.pages - 1
	}
	for p := first; p <= last; p++ {
		// Marked already is the rule, and then the word stays with both sides.
		at, bit := l.at+uintptr(p/32*4), uint32(1)<<(p%32)
		if mem.Load32(at)&bit == 0 {
			mem.Or32(at, bit)
		}
	}
	return all
}
