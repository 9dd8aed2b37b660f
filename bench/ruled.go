package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ruled starts a switch with the ports vu0 and vu1, numbers 1 and 2, and only these rules.
func (b *bench) ruled(ctx context.Context, c contender, rules []string) (sw bridge, sockets [2]string, err error) {
	sw, err = c.start(ctx)
	if err != nil {
		return nil, sockets, fmt.Errorf("%s: %w", c.name, err)
	}
	sockets, err = pair(ctx, sw)
	for i := range sockets {
		var n string
		if err == nil {
			n, err = sw.ofport(ctx, fmt.Sprint("vu", i))
		}
		if err == nil && strings.TrimSpace(n) != fmt.Sprint(i+1) {
			err = fmt.Errorf("vu%d has number %s, and the rules say %d", i, strings.TrimSpace(n), i+1)
		}
	}
	if err == nil {
		err = b.setRules(ctx, sw, rules)
	}
	if err != nil {
		sw.stop()
		return nil, sockets, fmt.Errorf("%s: %w", c.name, err)
	}
	return sw, sockets, nil
}

// setRules replaces all rules of the bridge. No rules leave it as it came.
func (b *bench) setRules(ctx context.Context, sw bridge, rules []string) error {
	if len(rules) == 0 {
		return nil
	}
	if _, err := sw.ofctl(ctx, "del-flows"); err != nil {
		return err
	}
	path, err := b.ruleFile("rules", rules)
	if err != nil {
		return err
	}
	if _, err := sw.ofctl(ctx, "add-flows", path); err != nil {
		return fmt.Errorf("%w%s", err, lineOf(err, path, rules))
	}
	return nil
}

func (b *bench) ruleFile(name string, rules []string) (string, error) {
	path := filepath.Join(b.dir, name)
	return path, os.WriteFile(path, []byte(strings.Join(rules, "\n")+"\n"), 0o600)
}

// lineOf quotes the rule that an error names by file and line.
func lineOf(err error, path string, rules []string) string {
	m := regexp.MustCompile(regexp.QuoteMeta(path) + `:(\d+):`).FindStringSubmatch(err.Error())
	if m == nil {
		return ""
	}
	if n, _ := strconv.Atoi(m[1]); n >= 1 && n <= len(rules) {
		return fmt.Sprintf(" (line %d is %q)", n, rules[n-1])
	}
	return ""
}

var currentFlows = regexp.MustCompile(`flows +: \(current (\d+)\)`)

// megaflows is how many the switch has now.
func megaflows(ctx context.Context, sw bridge) (float64, error) {
	return figure(ctx, sw, "upcall/show", currentFlows)
}

// warmUp lets the generator go on until the switch has so many megaflows, or gets no more of them. The flow limit is
// set again and again where it is given: Open vSwitch lowers it by itself.
func warmUp(ctx context.Context, sw bridge, g *generator, expect, limit int) error {
	const patience, longest = 8, 90 // in half seconds
	most, since := 0.0, 0
	for range longest {
		if limit > 0 {
			if _, err := sw.ctl(ctx, "upcall/set-flow-limit", fmt.Sprint(limit)); err != nil {
				return err
			}
		}
		n, err := megaflows(ctx, sw)
		if err != nil {
			return err
		}
		if n > most*1.01 {
			most, since = n, 0
		} else if since++; since > patience {
			break
		}
		if n >= float64(expect)*0.995 {
			break
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-g.p.Done():
			return g.failed()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return g.warm()
}

// underRules measures one switch with rules. Its cycles are those of the measured time only.
func (b *bench) underRules(ctx context.Context, c contender, rules []string, t traffic, expect, limit int) (s sample, err error) {
	sw, sockets, err := b.ruled(ctx, c, rules)
	if err != nil {
		return s, err
	}
	defer sw.stop()
	if expect > 0 {
		t.warm = 100 * time.Second
	}
	g, err := b.startGen(ctx, sockets, t)
	if err != nil {
		return s, err
	}
	defer g.stop()
	if expect > 0 {
		if err := warmUp(ctx, sw, g, expect, limit); err != nil {
			return s, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	if err := g.measuring(ctx); err != nil {
		return s, fmt.Errorf("%s: %w", c.name, err)
	}
	if _, err := sw.ctl(ctx, "dpif-netdev/pmd-stats-clear"); err != nil {
		return s, err
	}
	n, err := megaflows(ctx, sw)
	if err != nil {
		return s, err
	}
	if s, err = g.result(ctx); err != nil {
		return s, fmt.Errorf("%s: %w", c.name, err)
	}
	if s.Received == 0 {
		return s, fmt.Errorf("%s forwards nothing under the rules, of which the last is %q", c.name, rules[len(rules)-1])
	}
	s.Megaflows = n
	s.Cycles, err = cycles(ctx, sw)
	return s, err
}

// bar says what a figure must be, and whether it is.
func bar(what string, met bool) string {
	if met {
		return what + ": met"
	}
	return what + ": NOT met"
}
