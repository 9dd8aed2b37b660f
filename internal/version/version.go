// Package version says which build of gvswitch this is: the release number that the Makefile sets at link time, or, in a plain
// "go build" or "go install module@version", what the Go tool recorded in the binary.
//
// It knows nothing of the programs that print it, and holds no state but the link-time strings, so it is safe for concurrent use.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// Link-time values, set with
//
//	go build -ldflags "-X github.com/gvswitch/gvswitch/internal/version.version=1.2.3 -X ....commit=abc123 -X ....date=2026-01-31"
//
// Each may stay empty; the build information of the binary fills in for it.
var version, commit, date string

// Info is what is known of this build. A field that nobody recorded is empty, but Version never is.
type Info struct {
	Version string `json:"version"`          // release number without a leading "v", or "devel"
	Commit  string `json:"commit,omitempty"` // revision, with "+dirty" when the tree had changes
	Date    string `json:"date,omitempty"`   // of the build or of the commit
	Go      string `json:"go"`               // of the compiler, e.g. "go1.26"
	Arch    string `json:"arch"`             // e.g. "linux/amd64"
}

// Get returns what is known of this build.
var Get = sync.OnceValue(func() Info {
	build, _ := debug.ReadBuildInfo()
	return resolve(version, commit, date, build)
})

// String returns the release number alone, as other programs' version fields (Open_vSwitch.ovs_version, say) want it.
func String() string { return Get().Version }

// Line returns the line that "PROGRAM --version" prints, without a final newline.
func Line(program string) string {
	i := Get()
	details := make([]string, 0, 4)
	for _, s := range []string{i.Commit, i.Date, i.Go, i.Arch} {
		if s != "" {
			details = append(details, s)
		}
	}
	return fmt.Sprintf("%s (gvswitch) %s (%s)", program, i.Version, strings.Join(details, ", "))
}

// resolve prefers link-time values over those of the build information, which is nil in a binary built without modules.
func resolve(version, commit, date string, build *debug.BuildInfo) Info {
	i := Info{Version: strings.TrimPrefix(version, "v"), Commit: commit, Date: date, Go: runtime.Version(), Arch: runtime.GOOS + "/" + runtime.GOARCH}
	if build != nil {
		if i.Version == "" && build.Main.Version != "" && build.Main.Version != "(devel)" {
			i.Version = strings.TrimPrefix(build.Main.Version, "v")
		}
		if i.Commit == "" {
			i.Commit, i.Date = vcs(build.Settings, i.Date)
		}
	}
	if i.Version == "" {
		i.Version = "devel"
	}
	return i
}

// vcs reads the revision from the build settings; date is kept when it is already known.
func vcs(settings []debug.BuildSetting, date string) (commit, when string) {
	when = date
	dirty := false
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value[:min(len(s.Value), 12)]
		case "vcs.time":
			if when == "" {
				when = s.Value
			}
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if commit != "" && dirty {
		commit += "+dirty"
	}
	return commit, when
}
