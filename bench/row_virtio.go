package main

import (
	"context"
	"fmt"
)

// inTurn measures pairings round by round and returns their medians in Mpps, or what figure says.
func (b *bench) inTurn(ctx context.Context, all []pairing, secs float64, figure func(sample) float64) ([]float64, error) {
	got := make([][]sample, len(all))
	for range b.rounds {
		for i, p := range all {
			s, err := b.pairs(ctx, p, secs)
			if err != nil {
				return nil, fmt.Errorf("%s, host %s, guest %s: %w", p.way, p.host, p.guest, err)
			}
			got[i] = append(got[i], s)
		}
	}
	medians := make([]float64, len(all))
	for i := range got {
		medians[i] = median(got[i], figure)
	}
	return medians, nil
}

// against are the three pairings of which two have gvswitch on one side.
func against(p pairing) []pairing {
	all := []pairing{p, p, p}
	all[0].host, all[0].guest = "DPDK", "DPDK"
	all[1].host, all[1].guest = "gvswitch", "DPDK"
	all[2].host, all[2].guest = "DPDK", "gvswitch"
	return all
}

var againstHead = []string{"DPDK both, Mpps", "gvswitch's device, Mpps", "ratio", "gvswitch's driver, Mpps", "ratio"}

func againstCells(m []float64) []string {
	return []string{f2(m[0]), f2(m[1]), ratio(m[1], m[0]), f2(m[2]), ratio(m[2], m[0])}
}

func f2(v float64) string { return fmt.Sprintf("%.2f", v) }

// virtio compares gvswitch's device side and its driver side with DPDK's.
func (b *bench) virtio(ctx context.Context) (table, error) {
	t := table{head: append([]string{"way", "mergeable", "offloads"}, againstHead...)}
	for _, offload := range []bool{true, false} {
		for _, mrg := range []bool{false, true} {
			for _, w := range []way{pvp, guestToHost, hostToGuest, loopback} {
				if !b.wanted(string(w)) {
					continue
				}
				m, err := b.inTurn(ctx, against(pairing{way: w, mrg: mrg, offload: offload}), b.secs, sample.mpps)
				if err != nil {
					return t, err
				}
				t.add(append([]string{string(w), onOff(mrg), onOff(offload)}, againstCells(m)...)...)
			}
		}
	}
	t.notes = append(t.notes, "64 B. DPDK's device is testpmd's net_vhost, its driver net_virtio_user; gvswitch's are driven by a loop that does as little (bench/io). "+
		"With offloads the driver asks for checksums and segmentation, and the device has to read each header. Loopback: 512 frames go round.")
	return t, nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// layout is how a driver puts header and frame into descriptors. DPDK's puts the header in front of the frame where there is room; if not, it takes
// an indirect table, or with in_order a second descriptor.
type layout struct {
	name    string
	dev     string
	options []string
	port    string // the same of gvswitch's driver
	offload bool
}

var layouts = []layout{
	{"one descriptor", "in_order=0", nil, "in_order=false", true},
	{"two descriptors", "in_order=1", []string{"noroom=1"}, "in_order=false,any_layout=false", true},
	{"indirect", "in_order=0", []string{"noroom=1"}, "in_order=false,indirect=true", true},
	{"one descriptor, no offload negotiated: no header read", "in_order=0", nil, "in_order=false", false},
}

// layouts compares the layouts that a driver can choose for what it sends.
func (b *bench) layouts(ctx context.Context) (table, error) {
	t := table{head: []string{
		"layout", "sending: DPDK both, Mpps", "gvswitch's device", "gvswitch's driver",
		"PVP, no loss: DPDK both, Mpps", "gvswitch's device", "PVP, 0.05 % loss: DPDK both, Mpps", "gvswitch's device", "bar",
	}}
	var sending, lossless []float64 // of gvswitch's device
	for _, l := range layouts {
		if !b.wanted(l.name) {
			continue
		}
		p := pairing{mrg: true, offload: l.offload, dev: l.dev, options: l.options, port: l.port, way: guestToHost}
		m, err := b.inTurn(ctx, against(p), b.secs, sample.mpps)
		if err != nil {
			return t, fmt.Errorf("%s: %w", l.name, err)
		}
		cells := []string{l.name, f2(m[0]), f2(m[1]), f2(m[2])}
		sending = append(sending, m[1])
		p.way = pvp
		for _, ppm := range []int{0, 500} {
			p.options = append([]string{fmt.Sprintf("search=%d", ppm)}, l.options...)
			m, err := b.inTurn(ctx, against(p)[:2], b.secs, func(s sample) float64 { return s.Found / 1e6 })
			if err != nil {
				return t, fmt.Errorf("%s, loss: %w", l.name, err)
			}
			cells = append(cells, f2(m[0]), f2(m[1]))
			if ppm == 0 {
				lossless = append(lossless, m[1])
			}
		}
		verdict := ""
		switch {
		case len(sending) == 2 && b.only == "":
			verdict = bar("sends less than one descriptor", sending[1] < sending[0])
		case len(sending) == 3 && b.only == "":
			verdict = bar("no loss: one descriptor's or more", lossless[2] >= lossless[0])
		}
		t.add(append(cells, verdict)...)
	}
	t.notes = append(t.notes, "64 B, mergeable buffers, offloads negotiated but where it says otherwise. Rates with a loss are found by halving, nine steps of five trials of a tenth "+
		"of a second; most of the five decide.")
	return t, nil
}

// batching compares a driver that takes frames and gives buffers back in batches with one that does so one by one, and two queues that are filled by
// two threads and drained by one with one queue.
func (b *bench) batching(ctx context.Context) (table, error) {
	t := table{head: append([]string{"the guest receives only", "mergeable"}, againstHead...)}
	for _, c := range []struct {
		name    string
		port    string
		options []string
		queues  int
	}{
		{"batches of 32", "", nil, 1},
		{"one by one", "rx-burst=1", []string{"burst=1"}, 1},
		{"two queues, filled by two threads, drained by one", "", nil, 2},
	} {
		for _, mrg := range []bool{false, true} {
			if !b.wanted(c.name) {
				continue
			}
			p := pairing{way: hostToGuest, mrg: mrg, port: c.port, options: c.options, queues: c.queues}
			m, err := b.inTurn(ctx, against(p), b.secs, sample.mpps)
			if err != nil {
				return t, fmt.Errorf("%s: %w", c.name, err)
			}
			t.add(append([]string{c.name, onOff(mrg)}, againstCells(m)...)...)
		}
	}
	t.notes = append(t.notes, "64 B. This machine has two CPUs: the two threads that fill share one.")
	return t, nil
}
