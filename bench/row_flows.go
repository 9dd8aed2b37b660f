package main

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// flowCase is traffic under rules.
type flowCase struct {
	name   string
	rules  []string // none: as the bridge comes
	t      traffic
	expect int // megaflows to wait for before measuring; 0: measure after a second
	limit  int // flow limit, 0 for the switch's own
}

var cross = []string{"in_port=1,actions=output:2", "in_port=2,actions=output:1"}

// flowRow is one line: a case, and perhaps the smaller one that its rate is compared with.
type flowRow struct {
	flowCase
	than  *flowCase
	judge func(g, o, gThan []sample) string
}

// flows compares the two switches under rules.
func (b *bench) flows(ctx context.Context) (table, error) {
	t := table{head: []string{"rules and traffic", "gvswitch Mpps", "OVS-DPDK Mpps", "rate ratio", "gvswitch cycles", "OVS-DPDK cycles", "cycles ratio", "megaflows", "bar"}}
	rows, err := b.flowRows()
	if err != nil {
		return t, err
	}
	for _, r := range rows {
		if err := b.flowLine(ctx, &t, r); err != nil {
			return t, fmt.Errorf("%s: %w", r.name, err)
		}
	}
	t.notes = append(t.notes, "Cycles are of the measured time alone, after the megaflows are there. Every flow of an access list meets one of its rules; "+
		"most of those of \"few meet one\" go on by the last. Where rates are compared with fewer flows, the comparison is of the same switch under the same rules, in turn.")
	return t, nil
}

func (b *bench) flowRows() ([]flowRow, error) {
	plain := traffic{size: "64", flows: 1024, macs: 1}
	rows := []flowRow{
		{flowCase: flowCase{name: "port to port, 64 B, 1024 flows", rules: cross, t: plain}, judge: func(g, o, _ []sample) string {
			rate := medianRatio(g, o, sample.mpps)
			both := min(median(g, sample.mpps), median(o, sample.mpps)) > 9 // the generator is the bound then
			return bar("cycles ratio 1.5, rate not below", medianRatio(o, g, sampleCycles) >= 1.5 && (rate >= 1 || both))
		}},
		{
			flowCase: flowCase{name: "an explicit actions=normal, 64 B, 1024 flows", rules: []string{"actions=normal"}, t: plain},
			than:     &flowCase{name: "as the bridge comes", t: plain},
			judge: func(g, _, than []sample) string {
				return bar("cycles within 3 % of a bridge without rules", medianRatio(g, than, sampleCycles) <= 1.03)
			},
		},
	}
	twice := func(g, o, _ []sample) string { return bar("cycles ratio 2", medianRatio(o, g, sampleCycles) >= 2) }
	for _, c := range []struct{ masks, flows int }{{20, 10_000}, {64, 100_000}} {
		rules, set, err := acl(1000, c.masks, c.flows)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("access list of 1000 rules, %d masks; %d flows", c.masks, c.flows)
		rows = append(rows, flowRow{flowCase: flowCase{name: name, rules: rules, t: traffic{size: "64", set: set}, expect: c.flows * 2}, judge: twice})
		through := append([]string{"priority=1,actions=resubmit(,1)"}, rules...)
		rows = append(rows, flowRow{flowCase: flowCase{name: name + ", few meet one", rules: through, t: traffic{size: "64", set: strangers(c.flows)}, expect: c.flows * 2}, judge: twice})
	}
	small, large := spread(1000), spread(1_000_000)
	share := func(least float64) func(g, o, than []sample) string {
		return func(g, _, than []sample) string {
			return bar(fmt.Sprintf("%.1f of the rate with 1000", least), medianRatio(g, than, sample.mpps) >= least)
		}
	}
	few := networks()
	one := flowCase{name: "1000 flows, a few megaflows", rules: few, t: traffic{size: "64", set: small}, expect: 256}
	rows = append(rows, flowRow{flowCase: flowCase{name: "1,000,000 flows, a few megaflows", rules: few, t: traffic{size: "64", set: large}, expect: 256}, than: &one, judge: share(0.8)})
	// Every source address is looked at, all of it, so that each flow has a megaflow.
	each := []string{"ip,in_port=1,actions=move:NXM_OF_IP_SRC[]->NXM_NX_REG0[],output:2", "ip,in_port=2,actions=move:NXM_OF_IP_SRC[]->NXM_NX_REG0[],output:1"}
	two := flowCase{name: "1000 megaflows", rules: each, t: traffic{size: "64", set: small}, expect: 1000}
	return append(rows, flowRow{
		flowCase: flowCase{name: "1,000,000 megaflows", rules: each, t: traffic{size: "64", set: large}, expect: 1_000_000, limit: 1_200_000},
		than:     &two, judge: share(0.5),
	}), nil
}

// networks are rules over destinations in the 128 networks of spread.
func networks() []string {
	var rules []string
	for n := 128; n < 256; n++ {
		rules = append(rules, fmt.Sprintf("in_port=1,ip,nw_dst=10.%d.0.0/16,actions=output:2", n), fmt.Sprintf("in_port=2,ip,nw_dst=10.%d.0.0/16,actions=output:1", n))
	}
	return rules
}

func medianRatio(a, b []sample, figure func(sample) float64) float64 {
	return median(a, figure) / median(b, figure)
}

func (b *bench) flowLine(ctx context.Context, t *table, r flowRow) error {
	var settings []string
	if r.limit > 0 {
		settings = []string{fmt.Sprint("flow-limit=", r.limit), "max-idle=60000"}
	}
	who := b.contenders(settings...)
	cases := []*flowCase{&r.flowCase}
	if r.than != nil {
		cases = append(cases, r.than)
	}
	got := make([][2][]sample, len(cases))
	for range b.rounds {
		for k, c := range cases {
			for i, w := range who {
				c.t.secs = b.secs
				s, err := b.underRules(ctx, w, c.rules, c.t, c.expect, r.limit)
				if err != nil {
					return err
				}
				got[k][i] = append(got[k][i], s)
			}
		}
	}
	for k := len(cases) - 1; k >= 0; k-- {
		g, o := got[k][0], got[k][1]
		judged := ""
		if k == 0 {
			var than []sample
			if len(cases) > 1 {
				than = got[1][0]
			}
			judged = r.judge(g, o, than)
		}
		count := func(s sample) float64 { return s.Megaflows }
		line := append(versusCells(cases[k].name, g, o), fmt.Sprintf("%.0f, %.0f", median(g, count), median(o, count)), judged)
		fmt.Fprintln(os.Stderr, "  ", strings.Join(line, " | ")) // there is long to wait for all of them
		t.add(line...)
	}
	if r.than != nil {
		t.notes = append(t.notes, fmt.Sprintf("%s: %s of the rate of \"%s\" with gvswitch, %s with OVS-DPDK.", strings.ToUpper(r.name[:1])+r.name[1:],
			ratio(median(got[0][0], sample.mpps), median(got[1][0], sample.mpps)), r.than.name, ratio(median(got[0][1], sample.mpps), median(got[1][1], sample.mpps))))
	}
	return nil
}

// versusCells are the cells of a comparison by rate and cycles.
func versusCells(name string, g, o []sample) []string {
	gr, or := median(g, sample.mpps), median(o, sample.mpps)
	gc, oc := median(g, sampleCycles), median(o, sampleCycles)
	return []string{name, fmt.Sprintf("%.2f", gr), fmt.Sprintf("%.2f", or), ratio(gr, or), fmt.Sprintf("%.0f", gc), fmt.Sprintf("%.0f", oc), ratio(oc, gc)}
}
