package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"time"
)

const (
	manyRules    = 100_000
	replaceRules = 10_000
	addedRules   = 20 // one after the other, under load
)

// full is traffic at full rate of which every frame that is missing at the end was lost by the switch.
func full(secs float64) traffic {
	return traffic{size: "64", flows: 1024, macs: 1, window: 768, secs: secs}
}

// rules measures changes of rules: how long they take, and what they do to the traffic.
func (b *bench) rules(ctx context.Context) (table, error) {
	t := table{head: []string{"work", "gvswitch", "OVS-DPDK", "bar"}}
	for _, part := range []func(context.Context, *table) error{b.loadRules, b.addRules, b.replaceRules, b.replaceStalls} {
		if err := part(ctx, &t); err != nil {
			return t, err
		}
	}
	t.notes = append(t.notes, "Commands run beside the generator and the poll thread on the same two CPUs, and take their time from them. \"In the switch\" is from the "+
		"request on the switch's socket to its answer, without a process being started for it.")
	return t, nil
}

// loadRules times add-flows with many rules, the process included, with the poll thread running.
func (b *bench) loadRules(ctx context.Context, t *table) error {
	lines := make([]string, 0, manyRules)
	for i := range manyRules {
		lines = append(lines, fmt.Sprintf("priority=%d,tcp,in_port=1,nw_src=10.%d.%d.%d,nw_dst=10.128.0.0/16,tp_dst=%d,actions=output:2", 1+i%1000, i>>16&255, i>>8&255, i&255, 1+i%5000))
	}
	path, err := b.ruleFile("many", lines)
	if err != nil {
		return err
	}
	var took [2][]float64
	for range b.rounds {
		for i, c := range b.contenders() {
			sw, _, err := b.ruled(ctx, c, cross)
			if err != nil {
				return err
			}
			begin := time.Now()
			_, err = sw.ofctl(ctx, "add-flows", path)
			took[i] = append(took[i], time.Since(begin).Seconds())
			sw.stop()
			if err != nil {
				return fmt.Errorf("%s: %w%s", c.name, err, lineOf(err, path, lines))
			}
		}
	}
	g, o := median(took[0], self), median(took[1], self)
	t.add("100,000 rules by add-flows, s", fmt.Sprintf("%.2f", g), fmt.Sprintf("%.2f", o), bar("2 s", g < 2))
	return nil
}

func self(v float64) float64 { return v }

// addRules adds rules one by one under full load.
func (b *bench) addRules(ctx context.Context, t *table) error {
	type result struct{ process, socket, lost, before float64 }
	var got [2][]result
	base := append(slices.Clone(cross), sources(1000, 100)...)
	for range b.rounds {
		for i, c := range b.contenders() {
			sw, sockets, err := b.ruled(ctx, c, base)
			if err != nil {
				return err
			}
			r, err := func() (r result, err error) {
				defer sw.stop()
				calm, err := b.generate(ctx, sockets, full(b.secs), nil)
				if err != nil {
					return r, err
				}
				var process, socket []float64
				s, err := b.generate(ctx, sockets, full(max(b.secs, addedRules*0.15)), func() error {
					for n := range addedRules {
						line := fmt.Sprintf("priority=500,ip,nw_src=10.99.%d.0/24,actions=drop", n)
						begin := time.Now()
						if g, is := sw.(*gv); is && n%2 == 0 {
							if err := g.call(ctx, "ofctl/change-flows", "br0", "add", line); err != nil {
								return fmt.Errorf("%q: %w", line, err)
							}
							socket = append(socket, ms(begin))
						} else {
							if _, err := sw.ofctl(ctx, "add-flow", line); err != nil {
								return fmt.Errorf("%q: %w", line, err)
							}
							process = append(process, ms(begin))
						}
						time.Sleep(50 * time.Millisecond)
					}
					return nil
				})
				return result{median(process, self), median(socket, self), s.lost(), calm.lost()}, err
			}()
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			got[i] = append(got[i], r)
		}
	}
	g, o := got[0], got[1]
	m := func(r []result, f func(result) float64) string { return fmt.Sprintf("%.1f", median(r, f)) }
	inside := median(g, func(r result) float64 { return r.socket })
	t.add("one rule added under full load, in the switch, ms", fmt.Sprintf("%.1f", inside), "", bar("5 ms", inside < 5))
	process := func(r result) float64 { return r.process }
	t.add("the same, by a command that is started for it, ms", m(g, process), m(o, process), "")
	lost := func(r result) float64 { return r.lost }
	t.add(fmt.Sprintf("frames lost while %d rules are added one by one", addedRules), fmt.Sprintf("%.0f", median(g, lost)), fmt.Sprintf("%.0f", median(o, lost)), bar("none", median(g, lost) == 0))
	calm := func(r result) float64 { return r.before }
	t.add("frames lost in a run without changes", fmt.Sprintf("%.0f", median(g, calm)), fmt.Sprintf("%.0f", median(o, calm)), "")
	return nil
}

func ms(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }

// call runs a command over the control socket (a JSON-RPC request and its answer).
func (g *gv) call(ctx context.Context, method string, args ...string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(g.dir, "gvswitchd.ctl"))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	if err := json.NewEncoder(conn).Encode(map[string]any{"id": 1, "method": method, "params": args}); err != nil {
		return err
	}
	var answer struct{ Error any }
	if err := json.NewDecoder(conn).Decode(&answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %v", method, answer.Error)
	}
	return nil
}

// sources is n rules over source addresses, half of them of each direction; those of the traffic are among the first.
func sources(n, priority int) []string {
	rules := make([]string, 0, n)
	for i := range n {
		flow, side := i/2, i%2
		rules = append(rules, fmt.Sprintf("priority=%d,ip,in_port=%d,nw_src=10.%d.%d.%d,actions=output:%d", priority, side+1, side+1, flow/250, flow%250+1, 2-side))
	}
	return rules
}

// replacement is two files of rules that send the traffic the same way and have no rule in common.
func (b *bench) replacement() (files [2]string, err error) {
	for i := range files {
		if files[i], err = b.ruleFile(fmt.Sprint("replace", i), sources(replaceRules, 100*(i+1))); err != nil {
			return files, err
		}
	}
	return files, nil
}

// replaceRules replaces all rules under full load.
func (b *bench) replaceRules(ctx context.Context, t *table) error {
	files, err := b.replacement()
	if err != nil {
		return err
	}
	type result struct{ took, lost, share float64 }
	var got [2][]result
	for range b.rounds {
		for i, c := range b.contenders() {
			sw, sockets, err := b.ruled(ctx, c, sources(replaceRules, 100))
			if err != nil {
				return err
			}
			r, err := func() (r result, err error) {
				defer sw.stop()
				calm, err := b.generate(ctx, sockets, full(b.secs), nil)
				if err != nil {
					return r, err
				}
				var took []float64
				s, err := b.generate(ctx, sockets, full(max(b.secs, 4)), func() error {
					for n := range 4 {
						begin := time.Now()
						if _, err := sw.ofctl(ctx, "replace-flows", files[(n+1)%2]); err != nil {
							return err
						}
						took = append(took, ms(begin))
						time.Sleep(200 * time.Millisecond)
					}
					return nil
				})
				return result{median(took, self), s.lost(), s.mpps() / calm.mpps()}, err
			}()
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			got[i] = append(got[i], r)
		}
	}
	g, o := got[0], got[1]
	cell := func(r []result, form string, f func(result) float64) string { return fmt.Sprintf(form, median(r, f)) }
	took := func(r result) float64 { return r.took }
	t.add("10,000 rules replaced under full load by replace-flows, ms", cell(g, "%.0f", took), cell(o, "%.0f", took), "")
	lost := func(r result) float64 { return r.lost }
	t.add("frames lost in four replacements", cell(g, "%.0f", lost), cell(o, "%.0f", lost), bar("none", median(g, lost) == 0))
	share := func(r result) float64 { return r.share }
	t.add("rate meanwhile, of that without", cell(g, "%.2f", share), cell(o, "%.2f", share), "")
	return nil
}

// replaceStalls counts stalls of the poll thread while rules are replaced every second, and those of a busy loop
// in its place while the same goes on beside it.
func (b *bench) replaceStalls(ctx context.Context, t *table) error {
	files, err := b.replacement()
	if err != nil {
		return err
	}
	secs := max(5, int(b.secs*5))
	replace := func(sw *gv) func(int) error {
		return func(i int) error {
			_, err := sw.ofctl(ctx, "replace-flows", files[(i+1)%2])
			return err
		}
	}
	var sw, spin []stall
	for range b.rounds {
		s, err := b.switchStalls(ctx, secs, replace, sources(replaceRules, 100)...)
		if err != nil {
			return err
		}
		sw = append(sw, s)
		if s, err = b.spinStalls(ctx, secs, replace, sources(replaceRules, 100)...); err != nil {
			return err
		}
		spin = append(spin, s)
	}
	count := func(s stall) float64 { return s.Count }
	longest := func(s stall) float64 { return s.Max }
	limit := 1.5 * max(1, median(spin, count))
	t.add(fmt.Sprintf("stalls over 200 us in %d s with a replacement every second (busy loop in C beside the same: %.0f)", secs, median(spin, count)),
		fmt.Sprintf("%.0f", median(sw, count)), "", bar("1.5 times the busy loop's", median(sw, count) <= limit))
	t.add(fmt.Sprintf("the longest of them, us (busy loop: %.0f)", median(spin, longest)), fmt.Sprintf("%.0f", median(sw, longest)), "", "")
	return nil
}
