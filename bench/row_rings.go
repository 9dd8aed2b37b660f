package main

import (
	"context"
	"fmt"
)

// rings compares the two switches as learning bridges for drivers with other rings than DPDK's driver takes by itself, which is split, in order,
// with merged buffers.
func (b *bench) rings(ctx context.Context) (table, error) {
	t := table{head: []string{"rings", "gvswitch Mpps", "OVS-DPDK Mpps", "rate ratio", "gvswitch cycles", "OVS-DPDK cycles", "cycles ratio", "bar"}}
	for _, r := range []struct {
		dev  string
		want float64 // cycles ratio
	}{
		{"packed_vq=1", 1.7},
		{"mrg_rxbuf=0", 1.8},
		{"in_order=0", 1.8},
		{"packed_vq=1,in_order=0", 1.7},
	} {
		w := traffic{size: "64", flows: 1024, macs: 1, secs: b.secs, dev: r.dev}
		got, err := b.versus(ctx, b.contenders(), w)
		if err != nil {
			return t, fmt.Errorf("%s: %w", r.dev, err)
		}
		cycles := medianRatio(got[1], got[0], sampleCycles)
		met := cycles >= r.want && medianRatio(got[0], got[1], sample.mpps) >= 1.05
		t.add(append(versusCells(r.dev, got[0], got[1]), bar(fmt.Sprintf("cycles ratio %.1f, rate ratio 1.05", r.want), met))...)
	}
	t.notes = append(t.notes, "The words are arguments of DPDK's net_virtio_user; 64 B, 1024 flows, both ways.")
	return t, nil
}
