package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gvswitch/gvswitch/internal/gen"
)

// frames is a rate in frames per second for people.
func frames(pps float64) string { return scaled(pps, "pps") }

func scaled(v float64, unit string) string {
	for _, m := range []struct {
		factor float64
		prefix string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= m.factor {
			return fmt.Sprintf("%.3f %s%s", v/m.factor, m.prefix, unit)
		}
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}

// progress prints a line about a running trial.
func (p *printer) progress(s gen.Snapshot) {
	if p.s.quiet {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%6.1f s", s.Elapsed.Seconds())
	for i, n := range s.Ports {
		last := gen.PortCount{}
		if i < len(p.last.Ports) && s.Elapsed > p.last.Elapsed {
			last = p.last.Ports[i]
		} else {
			p.last.Elapsed = 0
		}
		secs := (s.Elapsed - p.last.Elapsed).Seconds()
		fmt.Fprintf(&b, "  port %d: tx %s rx %s", i, frames(float64(n.Sent-last.Sent)/secs), frames(float64(n.Received-last.Received)/secs))
		for _, c := range []struct {
			what string
			n    uint64
		}{{"refused", n.Refused}, {"duplicate", n.Duplicate}, {"reordered", n.Reordered}, {"corrupt", n.Corrupt}} {
			if c.n > 0 {
				fmt.Fprintf(&b, " %s %d", c.what, c.n)
			}
		}
	}
	p.last = s
	fmt.Fprintln(p.err, b.String())
}

// step prints a line about a trial of a search.
func (p *printer) step(s gen.SearchStep) {
	if p.s.quiet {
		return
	}
	verdict := "passed"
	if !s.Passed {
		verdict = "failed: " + s.Why
	}
	missed, of := s.Missed()
	fmt.Fprintf(p.err, "%12s: %d of %d frames missed (%.4f%%), %s\n", frames(s.Rate), missed, of, percent(missed, of), verdict)
}

func percent(n, of uint64) float64 { return 100 * float64(n) / float64(max(of, 1)) }

// printReport prints the final table.
func printReport(out io.Writer, r *report) {
	if r.Search != nil {
		if r.Search.Rate == 0 {
			fmt.Fprintln(out, "no rate passed")
		} else {
			fmt.Fprintf(out, "highest rate: %s of each port that sends\n", frames(r.Search.Rate))
		}
	}
	if r.Result != nil {
		printResult(out, r.Result)
	}
	for _, f := range r.Failed {
		fmt.Fprintln(out, "FAILED:", f)
	}
}

// row is a line of the table: a name, and its value in each column.
type row struct {
	name  string
	value func(*gen.PortResult) string
	shown func(*gen.PortResult) bool // by what the total has; nil is always
}

func count(of func(*gen.PortResult) uint64) func(*gen.PortResult) string {
	return func(p *gen.PortResult) string { return fmt.Sprint(of(p)) }
}

// notable is a row that is shown when it is not 0.
func notable(name string, of func(*gen.PortResult) uint64) row {
	return row{name, count(of), func(p *gen.PortResult) bool { return of(p) > 0 }}
}

func age(name string, of func(*gen.Latency) float64) row {
	return row{name, func(p *gen.PortResult) string {
		if p.Latency == nil {
			return "-"
		}
		return fmt.Sprintf("%.1f us", of(p.Latency))
	}, func(p *gen.PortResult) bool { return p.Latency != nil }}
}

var rows = []row{
	{"sent", count(func(p *gen.PortResult) uint64 { return p.Sent }), nil},
	{"", func(p *gen.PortResult) string { return frames(p.SentPPS) }, nil},
	{"", func(p *gen.PortResult) string { return scaled(p.SentBPS, "bit/s") }, nil},
	notable("refused", func(p *gen.PortResult) uint64 { return p.Refused }),
	notable("skipped", func(p *gen.PortResult) uint64 { return p.Skipped }),
	{"received", count(func(p *gen.PortResult) uint64 { return p.Received }), nil},
	{"", func(p *gen.PortResult) string { return frames(p.ReceivedPPS) }, nil},
	{"", func(p *gen.PortResult) string { return scaled(p.ReceivedBPS, "bit/s") }, nil},
	{"lost", func(p *gen.PortResult) string {
		return fmt.Sprintf("%d (%.4f%%)", p.Lost, percent(p.Lost, p.Lost+p.Received))
	}, nil},
	{"duplicate", count(func(p *gen.PortResult) uint64 { return p.Duplicate }), nil},
	{"reordered", count(func(p *gen.PortResult) uint64 { return p.Reordered }), nil},
	{"corrupt", count(func(p *gen.PortResult) uint64 { return p.Corrupt }), nil},
	notable("  mark", func(p *gen.PortResult) uint64 { return p.BadMark }),
	notable("  contents", func(p *gen.PortResult) uint64 { return p.BadData }),
	notable("  checksum", func(p *gen.PortResult) uint64 { return p.BadSum }),
	notable("too late", func(p *gen.PortResult) uint64 { return p.TooLate }),
	notable("of an earlier trial", func(p *gen.PortResult) uint64 { return p.Stray }),
	notable("not ours", func(p *gen.PortResult) uint64 { return p.Foreign }),
	age("latency p50", func(l *gen.Latency) float64 { return l.P50 }),
	age("p90", func(l *gen.Latency) float64 { return l.P90 }),
	age("p99", func(l *gen.Latency) float64 { return l.P99 }),
	age("p99.9", func(l *gen.Latency) float64 { return l.P999 }),
	age("max", func(l *gen.Latency) float64 { return l.Max }),
}

// printResult prints a trial, a column for each port and one for all.
func printResult(out io.Writer, r *gen.Result) {
	columns := make([]*gen.PortResult, 0, 3)
	for i := range r.Ports {
		fmt.Fprintf(out, "port %d: %s\n", i, r.Ports[i].Name)
		columns = append(columns, &r.Ports[i])
	}
	rate := "max"
	if r.Rate > 0 {
		rate = frames(r.Rate)
	}
	fmt.Fprintf(out, "%v at %s\n", time.Duration(r.Seconds*float64(time.Second)).Round(time.Millisecond), rate)
	head := []string{""}
	for i := range r.Ports {
		head = append(head, fmt.Sprintf("port %d", i))
	}
	if len(columns) > 1 {
		columns = append(columns, &r.Total)
		head = append(head, "total")
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	line := func(cells []string) { fmt.Fprintln(w, strings.Join(cells, "\t")+"\t") }
	line(head)
	for _, row := range rows {
		if row.shown != nil && !row.shown(&r.Total) {
			continue
		}
		cells := []string{row.name}
		for _, p := range columns {
			cells = append(cells, row.value(p))
		}
		line(cells)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Total.Errors)) {
		cells := []string{name}
		for _, p := range columns {
			cells = append(cells, fmt.Sprint(p.Errors[name]))
		}
		line(cells)
	}
	_ = w.Flush()
}
