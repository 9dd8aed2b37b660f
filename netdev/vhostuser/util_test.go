package vhostuser

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"testing"

	"github.com/gvswitch/gvswitch/internal/pager"
	"github.com/gvswitch/gvswitch/internal/virtio/virtiotest"
)

// listenUnix listens on path, in place of whatever is there.
func listenUnix(t *testing.T, path string) *net.UnixListener {
	t.Helper()
	_ = os.Remove(path)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// What the ports log matters to nobody here unless asked for.
func TestMain(m *testing.M) {
	pager.Main()
	if !slices.Contains(os.Args, "-test.v=true") {
		slog.SetDefault(slog.New(slog.DiscardHandler))
	}
	os.Exit(m.Run())
}

// many is how often a loop runs: n times, or full times in `make soak`.
func many(n, full int) int {
	if os.Getenv("GVSWITCH_SOAK") != "" {
		return full
	}
	return n
}

// splitAndPacked runs a test for guests with either kind of ring.
func splitAndPacked(t *testing.T, f func(t *testing.T, packed bool)) {
	t.Run("split", func(t *testing.T) { f(t, false) })
	t.Run("packed", func(t *testing.T) { f(t, true) })
}

func procFD(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

type (
	hdr   = virtiotest.Hdr
	shape = virtiotest.Shape
	elem  = virtiotest.Elem
	ring2 = virtiotest.Ring
)
