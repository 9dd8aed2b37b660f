package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gvswitch/gvswitch/test/proc"
)

// startDaemon starts a daemon with the switch's command line and waits for
// nothing.
func startDaemon(t *testing.T, s *Switch) *proc.Process {
	t.Helper()
	p, err := proc.Start(s.command())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// runDaemon runs a daemon that must not come up to its end.
func runDaemon(t *testing.T, args ...string) *proc.Process {
	t.Helper()
	p, err := proc.Start(exec.Command(filepath.Join(binDir, "gvswitchd"), args...))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(startTime):
		t.Errorf("gvswitchd %s runs", args)
		p.Kill()
	}
	return p
}

// connectable is an error unless somebody listens on the socket.
func connectable(path string) error {
	c, err := net.Dial("unix", path)
	if err == nil {
		err = c.Close()
	}
	return err
}
