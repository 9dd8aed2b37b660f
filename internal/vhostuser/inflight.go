package vhostuser

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/mem"
)

// Inflight is an InflightArea that is mapped here.
type Inflight struct {
	area  InflightArea
	bytes []byte
	at    uintptr
}

// NewInflightFD makes a file for a table of n bytes, all zero, whose size is for ever.
func NewInflightFD(n uint64) (int, error) {
	fd, err := unix.MemfdCreate("vhost-user inflight", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, fmt.Errorf("memfd_create: %w", err)
	}
	if err = unix.Ftruncate(fd, int64(n)); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("memfd of %d bytes: %w", n, err)
	}
	return fd, nil
}

// MapInflight maps the table.
func MapInflight(a InflightArea) (*Inflight, error) {
	page := max(a.FD.Page, uint64(unix.Getpagesize()))
	start := a.Offset &^ (page - 1)
	size := (a.Offset - start + a.Size + page - 1) &^ (page - 1)
	if size > 1<<40 {
		return nil, fmt.Errorf("table of %#x bytes: no rings are that large", a.Size)
	}
	b, err := unix.Mmap(a.FD.Num, int64(start), int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("table: mmap of %#x bytes: %w", size, err)
	}
	return &Inflight{a, b, mem.AddrOf(b) + uintptr(a.Offset-start)}, nil
}

// Close unmaps the table, which nobody uses any more.
func (t *Inflight) Close() { _ = unix.Munmap(t.bytes) }

// Owns tells whether an address here lies in the table.
func (t *Inflight) Owns(addr uintptr) bool { return addr-mem.AddrOf(t.bytes) < uintptr(len(t.bytes)) }

// Part is where the part of a vring is, and for how many entries it has room; ok is false if
// there is none for this vring. The parts may be larger than they need be.
func (t *Inflight) Part(vring int, packed bool) (at uintptr, entries int, ok bool) {
	stride := t.area.Size / uint64(t.area.Queues) &^ 7
	if vring >= int(t.area.Queues) || stride < t.area.part(packed) {
		return 0, 0, false
	}
	return t.at + uintptr(uint64(vring)*stride), int(t.area.QueueSize), true
}
