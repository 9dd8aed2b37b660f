package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
	for _, lib := range []string{"eal", "ethdev", "mbuf", "mempool", "ring", "net_virtio"} {
		cc = append(cc, "-lrte_"+lib)
	}
	if _, err := proc.Run(ctx, "cc", cc...); err != nil {
		return err
	}
	if _, err := proc.Run(ctx, "cc", "-O2", "-Wall", "-o", b.spin, "bench/gen/spin.c"); err != nil {
		return err
	}
	if b.bin == "" {
		b.bin = filepath.Join(b.dir, "bin")
		_, err = proc.Run(ctx, "go", "build", "-trimpath", "-o", b.bin+"/", "./cmd/gvswitchd", "./cmd/gvsctl")
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
}

func (t traffic) String() string {
	s := t.size + " B"
	if t.size == "imix" {
		s = "IMIX"
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
	Cycles   float64 `json:"-"` // per packet, by the switch
}

func (s sample) mpps() float64 { return s.Received / s.Seconds / 1e6 }

// generate runs the generator between two vhost-user sockets.
func (b *bench) generate(ctx context.Context, sockets [2]string, t traffic) (s sample, err error) {
	args := []string{
		"-c", "1", b.gen, "-l", "1", "--no-pci", "--in-memory", "--single-file-segments", "-m", "256",
		"--file-prefix", filepath.Base(b.dir), "--no-telemetry", "--log-level=4",
	}
	for i, path := range sockets {
		args = append(args, fmt.Sprintf("--vdev=net_virtio_user%d,path=%s,queues=1,queue_size=1024", i, path))
	}
	args = append(args, "--", fmt.Sprint(t.secs), strconv.Itoa(t.rate))
	for i := range sockets {
		path, err := b.frames(t, i)
		if err != nil {
			return s, err
		}
		if i == 1 && t.oneWay {
			path = "@" + path
		}
		args = append(args, path)
	}
	text, err := proc.Run(ctx, "taskset", args...)
	if err != nil {
		return s, err
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return s, json.Unmarshal([]byte(lines[len(lines)-1]), &s)
}

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
