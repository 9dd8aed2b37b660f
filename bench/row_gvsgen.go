package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gvswitch/gvswitch/test/proc"
)

// gvsgen compares gvsgen with the generator on DPDK's driver, on the same switches with the same traffic: where both can run, they agree.
func (b *bench) gvsgen(ctx context.Context) (table, error) {
	t := table{head: []string{"switch", "rings", "frames", "DPDK's generator Mpps", "gvsgen Mpps", "ratio", "gvsgen that checks all, Mpps", "bar"}}
	for _, who := range []contender{b.contenders()[0], {"testpmd io", b.startPMD}} {
		for _, rings := range []struct{ name, dev, port string }{{"split", "", ""}, {"packed", "packed_vq=1", ",packed=true"}} {
			for _, size := range []string{"64", "512", "1518"} {
				name := strings.Join([]string{who.name, rings.name, size}, " ")
				if !b.wanted(name) {
					continue
				}
				w := traffic{size: size, flows: 1024, macs: 1, secs: b.secs, dev: rings.dev}
				var got [3][]sample
				for range b.rounds {
					for i, measure := range []func() (sample, error){
						func() (sample, error) { return b.measure(ctx, who, w) },
						func() (sample, error) { return b.byGvsgen(ctx, who, w, rings.port, "none") },
						func() (sample, error) { return b.byGvsgen(ctx, who, w, rings.port, "full") },
					} {
						s, err := measure()
						if err != nil {
							return t, fmt.Errorf("%s: %w", name, err)
						}
						got[i] = append(got[i], s)
					}
				}
				r := median(got[1], sample.mpps) / median(got[0], sample.mpps)
				what, met := "0.9 to 1.1", r >= 0.9 && r <= 1.1
				if who.name == "testpmd io" {
					what, met = "0.8 or more", r >= 0.8
				}
				t.add(who.name, rings.name, size+" B", mppsCell(got[0]), mppsCell(got[1]), fmt.Sprintf("%.2f", r), mppsCell(got[2]), bar(what, met))
			}
		}
	}
	t.notes = append(t.notes, "Both ways, 1024 flows, rings of 1024 entries, one CPU for either generator. gvsgen looks at every frame's sequence, contents and checksums when it "+
		"checks all; else it counts as DPDK's does. A ratio above 1 says that the generator is what is measured.")
	return t, nil
}

func mppsCell(s []sample) string { return fmt.Sprintf("%.2f", median(s, sample.mpps)) }

// byGvsgen measures a fresh switch with two ports by gvsgen, whose virtio-user ports get more options.
func (b *bench) byGvsgen(ctx context.Context, c contender, t traffic, port, check string) (s sample, err error) {
	sw, err := c.start(ctx)
	if err != nil {
		return s, fmt.Errorf("%s: %w", c.name, err)
	}
	defer sw.stop()
	sockets, err := pair(ctx, sw)
	if err != nil {
		return s, fmt.Errorf("%s: %w", c.name, err)
	}
	args := []string{
		"--json", "--quiet", "--cpus", "1", "--check", check, "--size", t.size, "--flows", fmt.Sprint(t.flows), "--macs", fmt.Sprint(t.macs),
		"--duration", fmt.Sprintf("%gs", t.secs),
	}
	for _, path := range sockets {
		args = append(args, "virtio-user:path="+path+",queue_size=1024"+port)
	}
	out, err := proc.Run(ctx, filepath.Join(b.bin, "gvsgen"), args...)
	if err != nil {
		return s, err
	}
	var r struct {
		Seconds float64
		Total   struct {
			Sent     float64
			Received float64
			Bytes    float64 `json:"received_bytes"`
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		return s, fmt.Errorf("gvsgen printed %q: %w", out, err)
	}
	return sample{Seconds: r.Seconds, Sent: r.Total.Sent, Received: r.Total.Received, Bytes: r.Total.Bytes}, nil
}
