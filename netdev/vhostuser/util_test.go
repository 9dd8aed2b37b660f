package vhostuser

import (
	"log/slog"
	"net"
	"os"
	"slices"
	"testing"
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
	if !slices.Contains(os.Args, "-test.v=true") {
		slog.SetDefault(slog.New(slog.DiscardHandler))
	}
	os.Exit(m.Run())
}
