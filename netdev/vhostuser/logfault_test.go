package vhostuser

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gvswitch/gvswitch/internal/vhostuser"
	"github.com/gvswitch/gvswitch/internal/vhostuser/frontend"
)

// lateLog connects a guest that says LOG_ALL before it gives a log, with a region of n bytes beside
// its memory, and then gives a log of the right size: all of it has to be marked. It does not wait for the answer.
func lateLog(t *testing.T, path string, n uint64) (g *frontend.Guest, log int) {
	t.Helper()
	g = attach(t, path, frontend.Config{})
	file := func(n uint64) int {
		fd, err := unix.MemfdCreate("guest", unix.MFD_CLOEXEC)
		if err == nil {
			err = unix.Ftruncate(fd, int64(n))
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		return fd
	}
	ram := file(n)
	r := vhostuser.Region{Guest: n, Size: n, User: 1 << 50, FD: vhostuser.FD{Num: ram}}
	if err := g.Set(vhostuser.AddMemReg, vhostuser.AppendMemReg(nil, r), ram); err != nil {
		t.Fatal(err)
	}
	if err := g.Set(vhostuser.SetFeatures, vhostuser.AppendU64(nil, g.Features|vhostuser.FeatureLogAll)); err != nil {
		t.Fatal(err)
	}
	size := 2 * n / 4096 / 8
	log = file(size)
	if err := g.Post(vhostuser.SetLogBase, vhostuser.LogArea{Size: size}.Append(nil), log); err != nil {
		t.Fatal(err)
	}
	return g, log
}

// A guest may say that it has as much memory as there are addresses. To mark all of that takes seconds, and
// gigabytes for the log: a port that is removed does not wait for it.
func TestLogOfEverything(t *testing.T) {
	l := newLab(t, nil)
	g, _ := lateLog(t, l.paths[0], 1<<46)
	time.Sleep(20 * time.Millisecond)
	l.remove(t, l.ports[0])
	g.Close()
	pass(t, l.in[0], l.in[1])
}

// A log that vanishes while it is marked leaves nothing behind.
func TestLogVanishesWhenMarked(t *testing.T) {
	l := newLab(t, nil)
	t.Run("", func(t *testing.T) { // whose end closes what is the test's
		for vanished := 0; vanished < 3; {
			g, log := lateLog(t, l.paths[0], 1<<43)
			time.Sleep(5 * time.Millisecond)
			if err := unix.Ftruncate(log, 0); err != nil {
				t.Fatal(err)
			}
			if _, err := g.Reply(frontend.Timeout); err != nil && strings.Contains(l.ports[0].dev.Info().Fault, "vanished") {
				vanished++
			}
			g.Close()
			eventually(t, "the guest is gone", func() bool { return l.ports[0].dev.Info().Status["status"] == "disconnected" })
		}
	})
	eventually(t, "the log is gone", func() bool { return l.ports[0].dev.(*Device).dirty.Load() == nil })
	l.alive()
}
