package pager

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// Pages come when somebody brings them, in any order, and until then everybody here goes on. A process
// that waits for pages can be ended.
func TestPager(t *testing.T) {
	const page, pages = 4096, 100
	fd, err := unix.MemfdCreate("guest", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, pages*page); err != nil {
		t.Fatal(err)
	}
	if err := Available(); err != nil {
		t.Fatal(err)
	}
	news := make(chan struct{}, 1000)
	p, err := Start(func() { news <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	uffd, err := p.Userfault()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(uffd)
	base, err := p.Map(fd, 0, pages*page)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Register(); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(MaxTouches) {
		if err := p.Touch(i, base+i*page+8); err != nil {
			t.Fatal(err)
		}
	}
	asked := map[uint64]bool{}
	for len(asked) < MaxTouches {
		asked[readFault(t, uffd)] = true
	}
	if d := p.Done(); len(d) != 0 {
		t.Fatalf("%d pages are there that nobody brought", len(d))
	}
	for i := MaxTouches - 1; i >= 10; i-- {
		bring(t, uffd, base+uint64(i)*page)
	}
	seen := map[uint64]bool{}
	for len(seen) < MaxTouches-10 {
		select {
		case <-news:
		case <-time.After(10 * time.Second):
			t.Fatalf("%d pages after 10 s", len(seen))
		}
		for _, id := range p.Done() {
			seen[id] = true
		}
	}
	if seen[3] {
		t.Error("page 3 is there")
	}
	start := time.Now()
	p.Close()
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("Close took %v", d)
	}
}

// A front end may ask for a userfaultfd as often as it likes.
func TestUserfaultLeavesNothing(t *testing.T) {
	p, err := Start(func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	open := func() int {
		list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	first := 0
	for i := range 20 {
		fd, err := p.Userfault()
		if err != nil {
			t.Fatal(err)
		}
		_ = unix.Close(fd)
		// It answers the next message when it is done with this one.
		if err := p.Register(); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = open()
		}
	}
	if n := open(); n > first {
		t.Errorf("%d descriptors, %d after the first", n, first)
	}
}
