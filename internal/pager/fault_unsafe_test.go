package pager

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readFault waits for a fault and returns its page.
func readFault(t *testing.T, uffd int) uint64 {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		var b [32]byte
		n, err := unix.Read(uffd, b[:])
		if errors.Is(err, unix.EAGAIN) {
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil || n != len(b) || b[0] != 0x12 {
			t.Fatalf("read %d bytes, event %#x: %v", n, b[0], err)
		}
		return binary.LittleEndian.Uint64(b[16:]) &^ 4095
	}
	t.Fatalf("no fault within 10 s")
	return 0
}

// bring puts a page of zeros where one is missing, and wakes who waits for it.
func bring(t *testing.T, uffd int, addr uint64) {
	t.Helper()
	r := [4]uint64{addr, 4096, 0, 0}
	const ioctlZeropage = 0xc020aa04
	if err := ioctl(uffd, ioctlZeropage, unsafe.Pointer(&r)); err != nil {
		t.Fatal(err)
	}
}
