package daemon

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A port that is stopped all the time writes few lines, and does not hide another's; what was left out is counted.
func TestFaultLog(t *testing.T) {
	var out strings.Builder
	f := newFaultLog(slog.New(slog.NewTextHandler(&out, nil)))
	now := time.Unix(1, 0)
	for range 1000 {
		f.say("vm0", "memory vanished", now)
	}
	f.say("vm1", "memory vanished", now)
	if n, m := strings.Count(out.String(), "port=vm0"), strings.Count(out.String(), "port=vm1"); n != faultBurst || m != 1 {
		t.Errorf("%d lines of vm0, %d of vm1, want %d and 1", n, m, faultBurst)
	}
	f.say("vm0", "memory vanished", now.Add(time.Minute))
	if want := "lines_not_logged=995"; !strings.Contains(out.String(), want) || strings.Count(out.String(), "port=vm0") != faultBurst+2 {
		t.Errorf("no %q, or not logged again:\n%s", want, out.String())
	}
}
