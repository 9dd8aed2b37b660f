package version

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	built := &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"},
		{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
		{Key: "vcs.modified", Value: "true"},
	}}
	built.Main.Version = "v0.3.0"
	plain := &debug.BuildInfo{}
	plain.Main.Version = "(devel)"

	for _, c := range []struct {
		name                  string
		version, commit, date string
		build                 *debug.BuildInfo
		want                  Info
	}{
		{"link time wins", "1.2.3", "abc", "today", built, Info{Version: "1.2.3", Commit: "abc", Date: "today"}},
		{"leading v goes", "v1.2.3", "", "", nil, Info{Version: "1.2.3"}},
		{"from the module", "", "", "", built, Info{Version: "0.3.0", Commit: "0123456789ab+dirty", Date: "2026-01-02T03:04:05Z"}},
		{"nothing recorded", "", "", "", plain, Info{Version: "devel"}},
		{"no build information", "", "", "", nil, Info{Version: "devel"}},
	} {
		got := resolve(c.version, c.commit, c.date, c.build)
		c.want.Go, c.want.Arch = got.Go, got.Arch
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestLine(t *testing.T) {
	line := Line("gvsctl")
	if !strings.HasPrefix(line, "gvsctl (gvswitch) "+String()+" (") || strings.ContainsRune(line, '\n') {
		t.Errorf("unexpected version line %q", line)
	}
}
