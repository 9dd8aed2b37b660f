package netdevtest

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/netdev"
)

// Host records what a device announces.
type Host struct {
	mu      sync.Mutex
	changes int
	frames  [][]byte
}

// Changed implements netdev.Host.
func (h *Host) Changed(netdev.Device) {
	h.mu.Lock()
	h.changes++
	h.mu.Unlock()
}

// Inject implements netdev.Host.
func (h *Host) Inject(_ netdev.Device, frame []byte) {
	h.mu.Lock()
	h.frames = append(h.frames, append([]byte(nil), frame...))
	h.mu.Unlock()
}

// Changes is how often Changed was called.
func (h *Host) Changes() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changes
}

// Open opens a device, closed at the test's end.
func Open(t testing.TB, open netdev.OpenFunc, name string, o netdev.Options, h netdev.Host) netdev.Device {
	t.Helper()
	d, err := open(name, o, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("closing %s: %v", name, err)
		}
	})
	return d
}

// Eventually waits until ok, at most limit.
func Eventually(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// FDs is how many descriptors the process has open.
func FDs(t testing.TB) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

// NoLeaks fails the test if f leaves descriptors or goroutines behind. It is run once
// before, so that what is made only once does not count.
func NoLeaks(t testing.TB, f func()) {
	t.Helper()
	f()
	fds, goroutines := FDs(t), runtime.NumGoroutine()
	for range 5 {
		f()
	}
	Eventually(t, 5*time.Second, "descriptors and goroutines as before", func() bool {
		return FDs(t) <= fds && runtime.NumGoroutine() <= goroutines
	})
}

// Readable waits until fd is readable (or in error), at most limit.
func Readable(t testing.TB, fd int, limit time.Duration) bool {
	t.Helper()
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for end := time.Now().Add(limit); ; {
		n, err := unix.Poll(p, max(int(time.Until(end).Milliseconds()), 0))
		switch {
		case errors.Is(err, unix.EINTR): // the runtime wants the thread to stop for a moment
		case err != nil:
			t.Fatal(err)
		default:
			return n > 0
		}
	}
}
