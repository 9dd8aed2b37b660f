package main

import (
	"context"
	"fmt"
	"time"
)

// forward compares the two switches as learning bridges.
func (b *bench) forward(ctx context.Context) (table, error) {
	t := table{head: []string{"work", "gvswitch Mpps", "OVS-DPDK Mpps", "rate ratio", "gvswitch cycles", "OVS-DPDK cycles", "cycles ratio"}}
	for _, w := range []traffic{
		{size: "64", flows: 1024, macs: 1},
		{size: "512", flows: 1024, macs: 1},
		{size: "1518", flows: 1024, macs: 1},
		{size: "imix", flows: 1024, macs: 1},
		{size: "64", flows: 16384, macs: 1},
		{size: "64", flows: 16384, macs: 1000},
	} {
		w.secs = b.secs
		got, err := b.versus(ctx, b.contenders(), w)
		if err != nil {
			return t, err
		}
		t.add(versusCells(w.String(), got[0], got[1])...)
	}
	return t, nil
}

func sampleCycles(s sample) float64 { return s.Cycles }

// versus measures the contenders in turn, round by round.
func (b *bench) versus(ctx context.Context, who []contender, w traffic) ([][]sample, error) {
	got := make([][]sample, len(who))
	for range b.rounds {
		for i, c := range who {
			s, err := b.measure(ctx, c, w)
			if err != nil {
				return nil, err
			}
			got[i] = append(got[i], s)
		}
	}
	return got, nil
}

// latency compares the age of frames at a moderate rate.
func (b *bench) latency(ctx context.Context) (table, error) {
	t := table{head: []string{"switch", "p50 us", "p99 us", "p99.9 us", "max us"}}
	w := traffic{size: "64", flows: 1024, macs: 1, rate: 200000, oneWay: true, secs: b.secs}
	who := b.contenders("pmd-sleep-max=0")
	got, err := b.versus(ctx, who, w)
	if err != nil {
		return t, err
	}
	us := func(s []sample, f func(sample) float64) string { return fmt.Sprintf("%.1f", median(s, f)) }
	for i, c := range who {
		t.add(c.name, us(got[i], func(s sample) float64 { return s.P50 }), us(got[i], func(s sample) float64 { return s.P99 }),
			us(got[i], func(s sample) float64 { return s.P999 }), us(got[i], func(s sample) float64 { return s.Max }))
	}
	return t, nil
}

// manyPorts compares cycles per packet with 2 and with 64 ports attached, where
// 62 of them never see a frame.
func (b *bench) manyPorts(ctx context.Context) (table, error) {
	t := table{head: []string{"ports", "Mpps", "cycles"}}
	var per [2][]sample
	for range b.rounds {
		for i, n := range []int{2, 64} {
			s, err := b.amongPorts(ctx, n)
			if err != nil {
				return t, err
			}
			per[i] = append(per[i], s)
		}
	}
	for i, n := range []int{2, 64} {
		t.add(fmt.Sprint(n), fmt.Sprintf("%.2f", median(per[i], sample.mpps)), fmt.Sprintf("%.0f", median(per[i], sampleCycles)))
	}
	t.notes = append(t.notes, "64 ports cost "+ratio(median(per[1], sampleCycles), median(per[0], sampleCycles))+" times the cycles of 2.")
	return t, nil
}

func (b *bench) amongPorts(ctx context.Context, n int) (sample, error) {
	sw, err := b.startGV(ctx)
	if err != nil {
		return sample{}, err
	}
	defer sw.stop()
	sockets, err := pair(ctx, sw)
	if err != nil {
		return sample{}, err
	}
	stop, err := b.idlers(ctx, sw, n-2)
	if err != nil {
		return sample{}, err
	}
	defer stop()
	if _, err := sw.ctl(ctx, "dpif-netdev/pmd-stats-clear"); err != nil {
		return sample{}, err
	}
	time.Sleep(200 * time.Millisecond)
	return b.through(ctx, sw, sockets, traffic{size: "64", flows: 1024, macs: 1, secs: b.secs})
}
