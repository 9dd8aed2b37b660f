package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// table is a group of lines of the report.
type table struct {
	title string
	head  []string
	lines [][]string
	notes []string
}

func (t *table) add(cells ...string) { t.lines = append(t.lines, cells) }

// String is the table for a terminal.
func (t table) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s\n", t.title)
	w := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	for _, line := range append([][]string{t.head}, t.lines...) {
		fmt.Fprintf(w, "  %s\n", strings.Join(line, "\t"))
	}
	w.Flush()
	for _, n := range t.notes {
		fmt.Fprintf(&s, "  %s\n", n)
	}
	return s.String()
}

// report collects tables by the name of their rows.
type report struct{ names, texts []string }

func (r *report) add(name string, t table) {
	var s strings.Builder
	fmt.Fprintf(&s, "## %s\n\n| %s |\n|%s\n", t.title, strings.Join(t.head, " | "), strings.Repeat("---|", len(t.head)))
	for _, line := range t.lines {
		fmt.Fprintf(&s, "| %s |\n", strings.Join(line, " | "))
	}
	for _, n := range t.notes {
		fmt.Fprintf(&s, "\n%s\n", n)
	}
	r.names, r.texts = append(r.names, name), append(r.texts, s.String())
}

// write makes the page. It says where and how the figures came about.
func (r *report) write(path string) error {
	head := fmt.Sprintf(`# Performance

Written by %s on %s,
commit %s, %s, %s.

Both switches run in turn in the same minutes, one poll thread on CPU 0, the generator
on CPU 1; figures are medians. Rates of shared machines vary: the ratios are
what counts. Cycles are the switches' own: time stamp counter cycles of poll iterations that
moved packets, over packets received.
`, "`go run ./bench -rows "+strings.Join(r.names, ",")+" ...`", time.Now().UTC().Format("2 January 2006"),
		firstLine("git", "rev-parse", "--short", "HEAD"), cpuModel(), runtime.Version())
	return os.WriteFile(path, []byte(head+"\n"+strings.Join(r.texts, "\n")), 0o644)
}

func firstLine(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

func cpuModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return runtime.GOARCH
}

// ratio is a over b for a table.
func ratio(a, b float64) string { return fmt.Sprintf("%.2f", a/b) }
