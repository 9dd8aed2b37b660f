package desired

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rewrite makes the tests write what they find as what they want.
var rewrite = os.Getenv("REWRITE") != ""

// Each file of testdata is a list of cases: rows, "----", the state that they ask for, and an empty line.
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { testFile(t, file) })
	}
}

func testFile(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i, c := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		input, want, _ := strings.Cut(c+"\n", "----\n")
		var rows []string
		for line := range strings.Lines(input) {
			if !strings.HasPrefix(line, "#") {
				rows = append(rows, line)
			}
		}
		got := show(Read(parseRows(t, strings.Join(rows, "")), Env{RunDir: "/run/gv", CPUs: []int{0, 1, 2, 3}}))
		if strings.TrimSpace(got) != strings.TrimSpace(want) && !rewrite {
			t.Errorf("case %d:\n%s----\ngot:\n%s\nwant:\n%s", i+1, input, got, want)
		}
		fmt.Fprintf(&out, "%s----\n%s\n", input, strings.TrimPrefix(got, "\n"))
	}
	if rewrite {
		if err := os.WriteFile(file, []byte(strings.TrimSpace(out.String())+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// show is the state as text, without what has its default value.
func show(s *State) string {
	var b strings.Builder
	switch {
	case s.Threads == nil:
		b.WriteString("threads: wrong\n")
	case len(s.Threads.CPUs) > 0 || s.Threads.Sleep != SleepAdaptive || s.Threads.Assign != "cycles" || !s.Threads.Isolate:
		fmt.Fprintf(&b, "threads: cpus=%v sleep=%d max=%v assign=%s isolate=%v\n", s.Threads.CPUs, s.Threads.Sleep, s.Threads.Max, s.Threads.Assign, s.Threads.Isolate)
	}
	showReport(&b, "", s.Report)
	for _, br := range s.Bridges {
		fmt.Fprintf(&b, "bridge %s", br.Name)
		switch c := br.Config; {
		case br.Refused != "":
			fmt.Fprintf(&b, " refused: %s", br.Refused)
		case c == nil:
			b.WriteString(" config wrong")
		default:
			if c.MACTableSize != 8192 || c.MACAging.Seconds() != 300 {
				fmt.Fprintf(&b, " macs=%d/%v", c.MACTableSize, c.MACAging)
			}
			if c.ForwardBPDU {
				b.WriteString(" forward-bpdu")
			}
			if c.MAC != nil {
				fmt.Fprintf(&b, " mac=%v", c.MAC)
			}
		}
		if br.DatapathID != "" {
			fmt.Fprintf(&b, " id=%s", br.DatapathID)
		}
		b.WriteString("\n")
		showReport(&b, "  ", br.Report)
		for _, p := range br.Ports {
			showPort(&b, p)
		}
	}
	return b.String()
}

func showPort(b *strings.Builder, p *Port) {
	fmt.Fprintf(b, "  port %s", p.Name)
	if p.Local {
		b.WriteString(" local")
	}
	if c := p.Config; c == nil {
		b.WriteString(" config wrong")
	} else {
		if c.VLANMode != "trunk" || len(c.Trunks) > 0 {
			fmt.Fprintf(b, " %s tag=%d trunks=%v", c.VLANMode, c.Tag, c.Trunks)
		}
		if c.Protected {
			b.WriteString(" protected")
		}
		if c.Priority != "never" {
			b.WriteString(" priority-tags=" + c.Priority)
		}
	}
	b.WriteString("\n")
	showReport(b, "    ", p.Report)
	if p.Iface != nil {
		showInterface(b, p.Iface)
	}
	for _, i := range p.Refused {
		showInterface(b, i)
	}
}

func showInterface(b *strings.Builder, i *Interface) {
	fmt.Fprintf(b, "    %s", i.Name)
	if i.Refused != "" {
		fmt.Fprintf(b, " refused: %s\n", i.Refused)
	} else {
		fmt.Fprintf(b, " %s claims=%q", i.Kind, i.Claims)
		if len(i.Options) > 0 {
			fmt.Fprintf(b, " options=%v", i.Options)
		}
		if i.MTU != 0 || i.MAC != "" {
			fmt.Fprintf(b, " mtu=%d mac=%s", i.MTU, i.MAC)
		}
		if i.Peer != "" {
			fmt.Fprintf(b, " peer=%s", i.Peer)
		}
		if i.OFPortRequest != 0 || i.OFPortBefore != 0 {
			fmt.Fprintf(b, " ofport=%d/%d", i.OFPortRequest, i.OFPortBefore)
		}
		if i.Affinity != nil {
			fmt.Fprintf(b, " affinity=%v", i.Affinity)
		}
		b.WriteString("\n")
	}
	showReport(b, "      ", i.Report)
}

func showReport(b *strings.Builder, indent string, r Report) {
	for _, e := range r.Errors {
		fmt.Fprintf(b, "%serror: %s\n", indent, e)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(b, "%swarning: %s\n", indent, w)
	}
}
