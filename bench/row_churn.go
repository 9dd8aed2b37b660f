package main

import (
	"context"
	"fmt"
)

// changesPerSecond is how many addresses move, or are new, in a second of the churn rows.
const changesPerSecond = 1000

// churn compares the traffic of addresses that stay with and without others that move or are new all the time.
func (b *bench) churn(ctx context.Context) (table, error) {
	t := table{head: []string{"bridge", "a thousand a second", "gvswitch without", "with, Mpps", "share", "OVS-DPDK without", "with, Mpps", "share", "bar"}}
	// The traffic's own addresses are learned by the rules of the table, as a bridge made of rules does it.
	learn := []string{
		"table=0,priority=1,actions=learn(table=1,hard_timeout=60,priority=5,NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[],output:NXM_OF_IN_PORT[]),resubmit(,1)",
		"table=1,priority=0,actions=flood",
	}
	beside := []string{"priority=9,udp,tp_dst=9,actions=drop", "priority=0,actions=normal"} // so that there are megaflows
	for _, c := range []struct {
		name   string
		rules  []string
		macs   int
		change string
		moves  int
		learns int
	}{
		{"MAC learning", nil, 16, "addresses move", changesPerSecond, 0},
		{"MAC learning", nil, 16, "addresses are new", 0, changesPerSecond},
		{"normal beside a rule", beside, 16, "addresses move", changesPerSecond, 0},
		{"normal beside a rule", beside, 16, "addresses are new", 0, changesPerSecond},
		{"learn action", learn, 16, "addresses move", changesPerSecond, 0},
		{"learn action", learn, 16, "addresses are new", 0, changesPerSecond},
	} {
		who := b.contenders("flow-limit=200000")
		var with, without [2][]sample
		for range b.rounds {
			for i, w := range who {
				calm := traffic{size: "64", flows: 1024, macs: c.macs, secs: b.secs}
				s, err := b.underRules(ctx, w, c.rules, calm, 0, 0)
				if err != nil {
					return t, fmt.Errorf("%s: %w", c.name, err)
				}
				without[i] = append(without[i], s)
				calm.moves, calm.learns = c.moves, c.learns
				if s, err = b.underRules(ctx, w, c.rules, calm, 0, 0); err != nil {
					return t, fmt.Errorf("%s, %s: %w", c.name, c.change, err)
				}
				with[i] = append(with[i], s)
			}
		}
		cells := []string{c.name, c.change}
		var share [2]float64
		for i := range who {
			share[i] = medianRatio(with[i], without[i], sample.mpps)
			cells = append(cells, fmt.Sprintf("%.2f", median(without[i], sample.mpps)), fmt.Sprintf("%.2f", median(with[i], sample.mpps)), fmt.Sprintf("%.2f", share[i]))
		}
		t.add(append(cells, bar("0.9", share[0] >= 0.9))...)
	}
	t.notes = append(t.notes, "64 B, 1024 flows of 16 addresses that stay, both ways; beside them 64 addresses take turns on the two ports, or every address is a new one. "+
		"A thousand frames a second of those are part of the figures.")
	return t, nil
}
