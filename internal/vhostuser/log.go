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
	return &DirtyLog{bytes: b, at: mem.AddrOf(b) + uintptr(a.Offset-start), pages: a.Size / 4 * logWord}, nil
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
	for p, end := first, min(last, l.pages-1); p <= end; p++ {
		l.set(p, 1<<(p%logWord))
	}
	return all
}

// logWord is how many bits are set at a time.
const logWord = 32

// set sets bits of the word that has page p's.
func (l *DirtyLog) set(p uint64, bits uint32) {
	// Marked already is the rule, and then the word stays with both sides.
	if at := l.at + uintptr(p/logWord*4); mem.Load32(at)&bits != bits {
		mem.Or32(at, bits)
	}
}

// MarkAll marks n bytes at a guest-physical address that nobody knows any better about, as far as
// there are bits. That may be more than any guest has; when quit says so, the rest is left.
func (l *DirtyLog) MarkAll(guest, n uint64, quit func() bool) {
	const lookEvery = 1 << 20
	end := min((guest+n-1)/logPage, l.pages-1) + 1
	for p := guest / logPage; p < end; {
		if p%lookEvery == 0 && quit() {
			return
		}
		if p%logWord == 0 && end-p >= logWord {
			l.set(p, ^uint32(0))
			p += logWord
		} else {
			l.set(p, 1<<(p%logWord))
			p++
		}
	}
}
