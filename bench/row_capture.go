package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/gvswitch/gvswitch/test/proc"
)

// capture measures what a capture of a port to a file does to the traffic.
func (b *bench) capture(ctx context.Context) (table, error) {
	t := table{head: []string{"1 Mpps into vu0, 64 B", "without a capture", "with gvsctl pcap -i vu0", "bar"}}
	million := traffic{size: "64", flows: 1024, macs: 1, rate: 1_000_000, oneWay: true, window: 768, secs: b.secs}
	var calm, seen []sample
	var files []captured
	for range b.rounds {
		for _, capturing := range []bool{false, true} {
			s, c, err := b.captured(ctx, million, capturing)
			if err != nil {
				return t, err
			}
			if capturing {
				seen, files = append(seen, s), append(files, c)
			} else {
				calm = append(calm, s)
			}
		}
	}
	offered := func(s sample) float64 { return s.Sent / s.Seconds / 1e6 }
	two := func(f func(sample) float64) (string, string) {
		return fmt.Sprintf("%.3f", median(calm, f)), fmt.Sprintf("%.3f", median(seen, f))
	}
	without, with := two(offered)
	t.add("offered, Mpps", without, with, "")
	without, with = two(sample.mpps)
	t.add("forwarded, Mpps", without, with, bar("0.8 of that without", medianRatio(seen, calm, sample.mpps) >= 0.8))
	lost := median(seen, sample.lost)
	t.add("frames lost", fmt.Sprintf("%.0f", median(calm, sample.lost)), fmt.Sprintf("%.0f", lost), bar("none", lost == 0))
	inFile := median(files, func(c captured) float64 { return c.packets })
	missed := median(files, func(c captured) float64 { return c.missed })
	passed := median(files, func(c captured) float64 { return c.passed })
	off := 0.0
	for _, c := range files {
		off = max(off, c.passed-c.packets-c.missed, c.packets+c.missed-c.passed)
	}
	t.add("packets of the port while it was captured", "", fmt.Sprintf("%.0f", passed), "")
	t.add("packets in the file", "", fmt.Sprintf("%.0f", inFile), "")
	t.add("missed by the capture, as it says", "", fmt.Sprintf("%.0f", missed), bar("with those in the file, all", off == 0))

	full := traffic{size: "64", flows: 1024, macs: 1, secs: b.secs}
	calm, seen = nil, nil
	for range b.rounds {
		s, _, err := b.captured(ctx, full, false)
		if err != nil {
			return t, err
		}
		calm = append(calm, s)
		if s, _, err = b.captured(ctx, full, true); err != nil {
			return t, err
		}
		seen = append(seen, s)
	}
	without, with = two(sample.mpps)
	t.add("at full rate both ways: forwarded, Mpps", without, with, ratio(median(seen, sample.mpps), median(calm, sample.mpps))+" of that without")
	t.notes = append(t.notes, "gvsctl and gvswitchd's reader of the capture share the two CPUs with the generator and the poll thread.")
	return t, nil
}

// captured is what became of the port's packets.
type captured struct{ passed, packets, missed float64 }

// captured sends traffic and, if asked, captures vu0 to a file meanwhile, from before the first frame until after the last.
func (b *bench) captured(ctx context.Context, t traffic, capturing bool) (s sample, c captured, err error) {
	g, err := b.startGV(ctx)
	if err != nil {
		return s, c, err
	}
	defer g.stop()
	sockets, err := pair(ctx, g)
	if err != nil {
		return s, c, err
	}
	if !capturing {
		s, err = b.generate(ctx, sockets, t, nil)
		return s, c, err
	}
	path := filepath.Join(g.dir, "vu0.pcapng")
	p, err := proc.Start(exec.Command(filepath.Join(b.bin, "gvsctl"), "--run-dir", g.dir, "pcap", "-i", "vu0", "-w", path))
	if err != nil {
		return s, c, err
	}
	defer p.Kill()
	if err := begun(ctx, p, path); err != nil {
		return s, c, err
	}
	if s, err = b.generate(ctx, sockets, t, nil); err != nil {
		return s, c, err
	}
	time.Sleep(500 * time.Millisecond) // what waits in the switch is written
	if c.passed, err = passed(ctx, g); err != nil {
		return s, c, err
	}
	if err := p.Signal(syscall.SIGINT); err != nil {
		return s, c, err
	}
	select {
	case <-p.Done():
	case <-time.After(20 * time.Second):
		return s, c, fmt.Errorf("gvsctl pcap does not end: %s", p.Output())
	}
	c.packets, c.missed, err = readCapture(path)
	if err != nil {
		return s, c, fmt.Errorf("%s: %w; gvsctl pcap printed: %s", path, err, p.Output())
	}
	return s, c, nil
}

var portCounts = regexp.MustCompile(`rx pkts=(\d+)(?s:.*)tx pkts=(\d+), bytes=\d+, drop=(\d+)`)

// passed is how many packets vu0 has received and was to send: what a capture sees.
func passed(ctx context.Context, g *gv) (float64, error) {
	text, err := g.ofctl(ctx, "dump-ports", "vu0")
	if err != nil {
		return 0, err
	}
	m := portCounts.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("dump-ports br0 vu0 tells no packets:\n%s", text)
	}
	sum := 0.0
	for _, s := range m[1:] {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// begun waits until the capture has written its head.
func begun(ctx context.Context, p *proc.Process, path string) error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return nil
		}
		if !p.Alive() || time.Now().After(end) || ctx.Err() != nil {
			return fmt.Errorf("gvsctl pcap -i vu0 -w %s does not begin: %s", path, p.Output())
		}
	}
}

// readCapture counts the packets of a pcapng file, and those that its statistics blocks say were missed. Of several
// blocks of an interface the last one counts.
func readCapture(path string) (packets, missed float64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	const enhanced, statistics, ifdrop = 6, 5, 5
	perInterface := map[uint32]float64{}
	le := binary.LittleEndian
	for r := newBlocks(f); ; {
		kind, body, err := r.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return packets, missed, err
		}
		switch kind {
		case enhanced:
			packets++
		case statistics:
			if len(body) < 12 {
				return packets, missed, fmt.Errorf("interface statistics block of %d bytes", len(body))
			}
			for o := body[12:]; len(o) >= 4; {
				code, n := le.Uint16(o), int(le.Uint16(o[2:]))
				if code == ifdrop && n == 8 && len(o) >= 12 {
					perInterface[le.Uint32(body)] = float64(le.Uint64(o[4:]))
				}
				o = o[min(len(o), 4+(n+3)&^3):]
			}
		}
	}
	for _, n := range perInterface {
		missed += n
	}
	return packets, missed, nil
}
