package desired_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/internal/daemon/rowtest"
)

// Each file of testdata has cases: rows in, the state that they ask for out (go test ./internal/daemon/desired -rewrite writes the
// latter).
func TestRead(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			rows, err := rowtest.Parse(d.Input)
			if err != nil {
				t.Fatalf("%s: %v", d.Pos, err)
			}
			return show(desired.Read(rows, desired.Env{RunDir: "/run/gv", CPUs: []int{0, 1, 2, 3}}))
		})
	})
}

// A row that refers to rows that are not there, as the replica may for a moment, is read without them.
func TestReadMissingRows(t *testing.T) {
	rows, err := rowtest.Parse("bridge br0\nport p0 / type=dummy\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"Interface", "Port", "Bridge", "Open_vSwitch"} {
		delete(rows, table)
		desired.Read(rows, desired.Env{})
	}
}

// show is the state as text, without what has its default value.
func show(s *desired.State) string {
	var b strings.Builder
	switch {
	case s.Threads == nil:
		b.WriteString("threads: wrong\n")
	case len(s.Threads.CPUs) > 0 || s.Threads.Sleep != desired.SleepAdaptive || s.Threads.Assign != "cycles" || !s.Threads.Isolate:
		fmt.Fprintf(&b, "threads: cpus=%v sleep=%d max=%v assign=%s isolate=%v\n",
			s.Threads.CPUs, s.Threads.Sleep, s.Threads.Max, s.Threads.Assign, s.Threads.Isolate)
	}
	switch {
	case s.Flows == nil:
		b.WriteString("flows: wrong\n")
	case *s.Flows != (desired.Flows{}):
		fmt.Fprintf(&b, "flows: limit=%d max-idle=%v\n", s.Flows.Limit, s.Flows.MaxIdle)
	}
	showReport(&b, "", s.Report)
	for _, br := range s.Bridges {
		showBridge(&b, br)
	}
	return b.String()
}

func showBridge(b *strings.Builder, br *desired.Bridge) {
	fmt.Fprintf(b, "bridge %s", br.Name)
	switch c := br.Config; {
	case br.Refused != "":
		fmt.Fprintf(b, " refused: %s", br.Refused)
	case c == nil:
		b.WriteString(" config wrong")
	default:
		if c.MACTableSize != 8192 || c.MACAging.Seconds() != 300 {
			fmt.Fprintf(b, " macs=%d/%v", c.MACTableSize, c.MACAging)
		}
		if len(c.FloodVLANs) > 0 {
			fmt.Fprintf(b, " flood-vlans=%v", c.FloodVLANs)
		}
		if c.ForwardBPDU {
			b.WriteString(" forward-bpdu")
		}
		if c.MAC != nil {
			fmt.Fprintf(b, " mac=%v", c.MAC)
		}
		if c.Secure {
			b.WriteString(" secure")
		}
		if c.FlowFile != "" {
			fmt.Fprintf(b, " flow-file=%s", c.FlowFile)
		}
	}
	if br.DatapathID != "" {
		fmt.Fprintf(b, " id=%s", br.DatapathID)
	}
	b.WriteString("\n")
	showReport(b, "  ", br.Report)
	for _, m := range br.Mirrors {
		if m.Wrong {
			fmt.Fprintf(b, "  mirror %s wrong\n", m.Name)
			continue
		}
		fmt.Fprintf(b, "  mirror %s all=%v src=%v dst=%v vlans=%v filter=%v out=%s/%d snaplen=%d\n",
			m.Name, m.All, m.Src, m.Dst, m.VLANs, &m.Filter, m.OutPort, m.OutVLAN, m.SnapLen)
	}
	for _, p := range br.Ports {
		showPort(b, p)
	}
	for _, o := range br.Bonds {
		fmt.Fprintf(b, "  bond %s", o.Name)
		if o.Config == nil {
			b.WriteString(" config wrong")
		} else {
			fmt.Fprintf(b, " %+v", *o.Config)
		}
		fmt.Fprintf(b, " members=%v\n", o.Members)
	}
}

func showPort(b *strings.Builder, p *desired.Port) {
	fmt.Fprintf(b, "  port %s", p.Name)
	if p.Local {
		b.WriteString(" local")
	}
	if p.UUID.IsZero() {
		b.WriteString(" implied")
	}
	if c := p.Config; c == nil {
		b.WriteString(" config wrong")
	} else {
		if c.VLANMode != "trunk" || len(c.Trunks) > 0 {
			fmt.Fprintf(b, " %s tag=%d trunks=%v", c.VLANMode, c.Tag, c.Trunks)
		}
		if c.VLANMode == "dot1q-tunnel" {
			fmt.Fprintf(b, " cvlans=%v type=%#x", c.CVLANs, c.QinQType)
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
	if p.Iface != nil && !p.UUID.IsZero() || p.Iface != nil && len(p.Iface.Report.Errors) > 0 {
		showInterface(b, p.Iface)
	}
	for _, i := range p.Refused {
		showInterface(b, i)
	}
}

func showInterface(b *strings.Builder, i *desired.Interface) {
	fmt.Fprintf(b, "    %s", i.Name)
	if i.Refused != "" {
		fmt.Fprintf(b, " refused: %s\n", i.Refused)
	} else {
		fmt.Fprintf(b, " %s", i.Kind)
		if len(i.Claims) > 0 {
			fmt.Fprintf(b, " claims=%q", i.Claims)
		}
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
		if i.Police != (desired.Policing{}) {
			fmt.Fprintf(b, " police=%+v", i.Police)
		}
		if i.Affinity != nil {
			fmt.Fprintf(b, " affinity=%v", i.Affinity)
		}
		b.WriteString("\n")
	}
	showReport(b, "      ", i.Report)
}

func showReport(b *strings.Builder, indent string, r desired.Report) {
	for _, e := range r.Errors {
		fmt.Fprintf(b, "%serror: %s\n", indent, e)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(b, "%swarning: %s\n", indent, w)
	}
}
