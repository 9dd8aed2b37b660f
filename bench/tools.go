package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gvswitch/gvswitch/test/proc"
)

// tools builds what the rows need.
func (b *bench) tools(ctx context.Context) error {
	flags, err := proc.Run(ctx, "pkg-config", "--cflags", "libdpdk")
	if err != nil {
		return err
	}
	b.gen, b.spin = filepath.Join(b.dir, "gen"), filepath.Join(b.dir, "spin")
	cc := append([]string{"-O3", "-march=native", "-Wall", "-o", b.gen, "bench/gen/gen.c"}, strings.Fields(flags)...)
	for _, lib := range []string{"eal", "ethdev", "mbuf", "mempool", "ring"} { // it loads the drivers by itself
		cc = append(cc, "-lrte_"+lib)
	}
	if _, err := proc.Run(ctx, "cc", cc...); err != nil {
		return err
	}
	if _, err := proc.Run(ctx, "cc", "-O2", "-Wall", "-o", b.spin, "bench/gen/spin.c"); err != nil {
		return err
	}
	b.io = filepath.Join(b.dir, "io")
	if _, err := proc.Run(ctx, "go", "build", "-trimpath", "-o", b.io, "./bench/io"); err != nil {
		return err
	}
	if b.bin == "" {
		b.bin = filepath.Join(b.dir, "bin")
		_, err = proc.Run(ctx, "go", "build", "-trimpath", "-o", b.bin+"/", "./cmd/gvswitchd", "./cmd/gvsctl", "./cmd/gvsgen")
	}
	return err
}

// traffic is what the generator sends, both ways unless told otherwise.
type traffic struct {
	size   string // bytes without CRC, or "imix": 64, 594, 1518 in 7:4:1
	flows  int
	macs   int
	rate   int // frames/s and side, 0 for no limit
	oneWay bool
	secs   float64

	set    *flowset      // in place of flows and macs
	warm   time.Duration // before measuring, 0 for a second
	window int           // frames of a side under way at most, 0 for any number
	moves  int           // addresses a second that are seen on the other side
	learns int           // addresses a second that are new

	dev     string   // more arguments of net_virtio_user: "packed_vq=1"
	queues  int      // queue pairs, 1 when 0
	options []string // more of the generator's own, see gen.c
}

func (t traffic) String() string {
	s := t.size + " B"
	if t.size == "imix" {
		s = "IMIX"
	}
	if t.set != nil {
		return s
	}
	s += fmt.Sprintf(", %d flows", t.flows)
	if t.macs > 1 {
		s += fmt.Sprintf(" over %d MACs", t.macs)
	}
	return s
}

// sample is one measurement.
type sample struct {
	Seconds  float64 `json:"seconds"`
	Sent     float64 `json:"sent"`
	Received float64 `json:"received"`
	Bytes    float64 `json:"bytes"`
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`
	P999     float64 `json:"p999_us"`
	Max      float64 `json:"max_us"`
	Found    float64 `json:"found"` // frames/s that a search found
	Cycles   float64 `json:"-"`     // per packet, by the switch

	Megaflows float64 `json:"-"` // when measuring began, where that was asked
}

// lost is how many frames did not arrive.
func (s sample) lost() float64 { return s.Sent - s.Received }

func (s sample) mpps() float64 { return s.Received / s.Seconds / 1e6 }

// generate runs the generator between two vhost-user sockets. During, if it is not nil, is called
// when measuring has begun; its error is generate's.
func (b *bench) generate(ctx context.Context, sockets [2]string, t traffic, during func() error) (s sample, err error) {
	g, err := b.startGen(ctx, sockets, t)
	if err != nil {
		return s, err
	}
	defer g.stop()
	if err := g.measuring(ctx); err != nil {
		return s, err
	}
	if during != nil {
		if err := during(); err != nil {
			return s, err
		}
	}
	return g.result(ctx)
}

func (b *bench) frameFile(t traffic, side int) (path string, err error) {
	if t.set != nil {
		path, err = t.set.write(b.dir, t.size, side)
		path = "%" + path
	} else {
		path, err = b.frames(t, side)
	}
	if side == 1 && t.oneWay {
		path = "@" + path
	}
	return path, err
}

// wanted tells whether a line is to be measured.
func (b *bench) wanted(line string) bool { return strings.Contains(line, b.only) }

// median of one figure over samples.
func median[T any](of []T, figure func(T) float64) float64 {
	v := make([]float64, 0, len(of))
	for _, s := range of {
		v = append(v, figure(s))
	}
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
