package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// resources are what a daemon holds.
type resources struct {
	FDs, Mappings, Threads, Goroutines int
	RSS                                int // of anonymous and file pages, bytes
}

func (r resources) String() string {
	return fmt.Sprintf("%d fds, %d mappings, %d threads, %d goroutines, %d MB", r.FDs, r.Mappings, r.Threads, r.Goroutines, r.RSS>>20)
}

var goroutinesForm = regexp.MustCompile(`goroutines:\s*(\d+)`)

// resources reads what the daemon holds now.
func (s *Switch) resources() resources {
	s.t.Helper()
	var r resources
	dir := fmt.Sprintf("/proc/%d/", s.Pid())
	fds, err := os.ReadDir(dir + "fd")
	if err != nil {
		s.t.Fatal(err)
	}
	r.FDs = len(fds)
	maps, err := os.ReadFile(dir + "maps")
	if err != nil {
		s.t.Fatal(err)
	}
	r.Mappings = strings.Count(string(maps), "\n")
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		switch key {
		case "Threads":
			r.Threads = n
		case "RssAnon", "RssFile":
			r.RSS += n << 10
		}
	}
	m := goroutinesForm.FindStringSubmatch(s.Ctl("memory/show"))
	if m == nil {
		s.t.Fatal("memory/show names no goroutines")
	}
	r.Goroutines, _ = strconv.Atoi(m[1])
	return r
}

// ticksPerSecond is what /proc counts CPU time in (USER_HZ, the same everywhere).
const ticksPerSecond = 100

// cpuTime is how long the daemon has been on a CPU since its start.
func (s *Switch) cpuTime() time.Duration {
	s.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.Pid()))
	if err != nil {
		s.t.Fatal(err)
	}
	// The command, in parentheses, may have blanks; utime and stime are the 12th
	// and 13th field after it (proc(5)).
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	user, err1 := strconv.Atoi(f[11])
	system, err2 := strconv.Atoi(f[12])
	if err1 != nil || err2 != nil {
		s.t.Fatalf("cannot read %q", b)
	}
	return time.Duration(user+system) * time.Second / ticksPerSecond
}
