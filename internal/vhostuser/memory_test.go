package vhostuser

import (
	"bytes"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/mem"
)

func memfd(t *testing.T, size int64) int {
	t.Helper()
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Ftruncate(fd, size); err != nil {
		t.Fatal(err)
	}
	return fd
}

// Offsets need not be page-aligned, and both tables lead to the same byte.
func TestMemoryOffsets(t *testing.T) {
	fd := memfd(t, 1<<20)
	if _, err := unix.Pwrite(fd, []byte("here"), 0x12345); err != nil {
		t.Fatal(err)
	}
	var m Memory
	regions := []Region{
		{Guest: 0, Size: 0xa0000, User: 0x7f0000000000, FD: Inspect(fd)},
		{Guest: 0x100000, Size: 0x2000, User: 0x7f00000c0000, Offset: 0x12345, FD: Inspect(fd)},
	}
	if err := m.Map(regions); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		m    *mem.Map
		addr uint64
	}{{m.Guest(), 0x12345}, {m.User(), 0x7f0000012345}, {m.Guest(), 0x100000}, {m.User(), 0x7f00000c0000}} {
		host, ok := c.m.Translate(c.addr, 4)
		if !ok || string(mem.Bytes(host, 4)) != "here" {
			t.Errorf("%#x is not translated to what is there", c.addr)
		}
	}
	m.Unmap(regions[:1])
	if m.Guest().Find(0x12345).Size != 0 || m.Guest().Find(0x100000).Size == 0 {
		t.Error("wrong region left after Unmap")
	}
	m.Unmap(regions[1:])
	if len(m.Guest().Regions()) != 0 {
		t.Error("a region left after Unmap of all")
	}
}

// Many regions come and go, and no mapping stays.
func TestMemoryLeavesNothing(t *testing.T) {
	count := func() int {
		b, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(b, []byte("memfd:test"))
	}
	ro, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	fd := Inspect(memfd(t, 1<<16))
	before := count()
	for range 100 {
		var m Memory
		var regions []Region
		for i := range uint64(10) {
			regions = append(regions, Region{Guest: i << 16, User: i << 20, Size: 1 << 16, FD: fd})
			if err := m.Map(regions[i:]); err != nil {
				t.Fatal(err)
			}
		}
		// The first can be mapped, the second can't: neither stays.
		if err := m.Map([]Region{{Guest: 1 << 40, User: 1 << 40, Size: 1 << 16, FD: fd}, {Guest: 1 << 41, User: 1 << 41, Size: 1, FD: FD{Num: int(ro.Fd())}}}); err == nil {
			t.Fatal("a read-only file was mapped")
		}
		if err := m.Map([]Region{{Guest: 0, User: 1 << 40, Size: 1, FD: fd}}); err == nil {
			t.Fatal("an overlap was mapped")
		}
		m.Unmap(regions)
	}
	if after := count(); after != before {
		t.Errorf("%d mappings before, %d after", before, after)
	}
}

func TestInspect(t *testing.T) {
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(event)
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(epoll)
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer CloseFDs(pipe[:])
	stream, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer CloseFDs(stream[:])
	dgram, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer CloseFDs(dgram[:])
	disk, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for name, c := range map[string]struct {
		fd   int
		want Kind
	}{
		"eventfd": {event, KindEventFD}, "epoll": {epoll, KindOther}, "pipe": {pipe[1], KindPipe},
		"stream": {stream[0], KindStream}, "dgram": {dgram[0], KindOther}, "memfd": {memfd(t, 12345), KindMemory},
		"disk": {int(disk.Fd()), KindOther}, "device": {int(null.Fd()), KindOther}, "closed": {9999, KindOther},
	} {
		if got := Inspect(c.fd); got.Kind != c.want {
			t.Errorf("%s: %v, want %v", name, got.Kind, c.want)
		}
	}
	if fd := Inspect(memfd(t, 12345)); fd.Size != 12345 || fd.Page != uint64(unix.Getpagesize()) {
		t.Errorf("memfd: %+v", fd)
	}
}
