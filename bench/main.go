package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
)

// bench is one run: its settings, tools and place for files.
type bench struct {
	secs   float64
	rounds int
	only   string
	dir    string // temporary files
	bin    string // gvswitchd, gvsctl
	gen    string // the generator
	spin   string // the busy loop
	io     string // what moves frames between devices alone

	gens atomic.Uint32 // started, so that each has a name of its own
}

// row measures one group of lines of the report.
type row struct {
	name string
	what string
	run  func(*bench, context.Context) (table, error)
}

var rows = []row{
	{"forward", "MAC learning between two vhost-user ports", (*bench).forward},
	{"rings", "MAC learning with other rings, 64 B", (*bench).rings},
	{"zerocopy", "dequeue zero copy off and on", (*bench).zeroCopy},
	{"virtio", "the device side and the driver side beside DPDK's", (*bench).virtio},
	{"layouts", "descriptors of a frame", (*bench).layouts},
	{"batching", "receiving in batches, and from two queues", (*bench).batching},
	{"gvsgen", "gvsgen beside the generator on DPDK's driver", (*bench).gvsgen},
	{"testpmd", "testpmd forwarding blindly between two net_vhost ports", (*bench).testpmd},
	{"ports", "64 ports attached, 2 of them active", (*bench).manyPorts},
	{"latency", "64 B at 200,000 frames/s, one way", (*bench).latency},
	{"footprint", "memory under load and CPU when idle, two guests attached", (*bench).footprint},
	{"iperf", "iperf3 TCP between guests, namespace and host", (*bench).iperf},
	{"restart", "kill -9 under traffic: until frames flow again", (*bench).restart},
	{"flows", "rules between two vhost-user ports, 64 B", (*bench).flows},
	{"churn", "addresses that move and new ones beside 64 B traffic", (*bench).churn},
	{"capture", "a port captured to a file", (*bench).capture},
	{"rules", "changes of rules", (*bench).rules},
	{"stalls", "the poll thread kept from running, beside a busy loop", (*bench).stalls},
}

func main() {
	b := &bench{}
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.name
	}
	which := flag.String("rows", strings.Join(names, ","), "groups of rows to measure:\n"+describe())
	out := flag.String("out", "", "also write the report, as a page of documentation, to this file")
	flag.Float64Var(&b.secs, "secs", 3, "seconds of each measurement")
	flag.IntVar(&b.rounds, "rounds", 3, "measurements of each switch")
	flag.StringVar(&b.only, "only", "", "of rows that are many, measure those whose name has this in it")
	flag.StringVar(&b.bin, "bin", "", "folder of gvswitchd and gvsctl (default: build them)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.all(ctx, strings.Split(*which, ","), *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) all(ctx context.Context, which []string, out string) (err error) {
	chosen, err := choose(which)
	if err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "gvbench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if err := b.tools(ctx); err != nil {
		return err
	}
	var rep report
	for _, r := range chosen {
		fmt.Fprintf(os.Stderr, "== %s: %s\n", r.name, r.what)
		t, err := r.run(b, ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		t.title = r.what
		rep.add(r.name, t)
		fmt.Print(t)
		if out == "" {
			continue
		}
		if err := rep.write(out); err != nil { // after each, so that a later failure loses nothing
			return err
		}
	}
	return nil
}

// choose finds rows by their names.
func choose(names []string) (list []row, err error) {
	for _, name := range names {
		i := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-rows: no rows %q (-help lists them)", name)
		}
		list = append(list, rows[i])
	}
	return list, nil
}

// describe says what the rows are, one a line.
func describe() string {
	var s strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&s, "  %-10s %s\n", r.name, r.what)
	}
	return strings.TrimSuffix(s.String(), "\n")
}
