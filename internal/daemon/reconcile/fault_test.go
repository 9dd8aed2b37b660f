package reconcile

import (
	"log/slog"
	"strings"
	"testing"
)

// A device that goes and comes back is told once each.
func TestSayFault(t *testing.T) {
	var out strings.Builder
	p := &port{log: slog.New(slog.NewTextHandler(&out, nil))}
	for _, fault := range []string{"", "eth0: no such device", "eth0: no such device", "", ""} {
		p.sayFault(fault)
	}
	if s := out.String(); strings.Count(s, "\n") != 2 || !strings.Contains(s, "eth0: no such device") || !strings.Contains(s, "works again") {
		t.Errorf("got %s", s)
	}
}
