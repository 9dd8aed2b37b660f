package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// stallSeconds is the length of each run, and three of each are made: the
// machine's own stalls come and go by the minute.
const stallSeconds = 60

// stall says how often, and for how long, a thread did not run for more than 200 us.
type stall struct {
	Count float64 `json:"stalls"`
	Max   float64 `json:"max_us"`
}

// stalls alternates the switch under load, with a control command every second,
// and a busy loop, on the same CPU, the generator running beside both.
func (b *bench) stalls(ctx context.Context) (table, error) {
	t := table{head: []string{"on CPU 0", "stalls > 200 us", "longest us"}}
	var sw, spin []stall
	for range 3 {
		s, err := b.switchStalls(ctx, stallSeconds, questions(ctx))
		if err != nil {
			return t, err
		}
		sw = append(sw, s)
		if s, err = b.spinStalls(ctx, stallSeconds, nil); err != nil {
			return t, err
		}
		spin = append(spin, s)
	}
	count := func(s stall) float64 { return s.Count }
	line := func(name string, s []stall) {
		t.add(name, fmt.Sprintf("%.0f", median(s, count)), fmt.Sprintf("%.0f", median(s, func(s stall) float64 { return s.Max })))
	}
	line("gvswitch's poll thread", sw)
	line("busy loop in C", spin)
	t.notes = append(t.notes, fmt.Sprintf("The poll thread was stalled %s times as often (medians of three runs of %d s each, in turn).",
		ratio(median(sw, count), max(1, median(spin, count))), stallSeconds))
	return t, nil
}

// load keeps the generator busy for the length of a run.
func (b *bench) load(ctx context.Context, sockets [2]string, secs int) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := b.generate(ctx, sockets, traffic{size: "64", flows: 1024, macs: 1, secs: float64(secs) + 2}, nil)
		done <- err
	}()
	time.Sleep(2 * time.Second)
	return done
}

// questions are control commands, a different one every second.
func questions(ctx context.Context) func(sw *gv) func(int) error {
	commands := [][]string{{"fdb/show", "br0"}, {"show"}, {"dump-ports", "br0"}, {"list", "Interface", "vu0"}, {"set", "Bridge", "br0", "external_ids:tick=1"}}
	return func(sw *gv) func(int) error {
		return func(i int) error {
			_, err := sw.ctl(ctx, commands[i%len(commands)]...)
			return err
		}
	}
}

var stallLine = regexp.MustCompile(`Stalls: +(\d+) +over 200 us \(\d+ over 1 ms, longest (\d+) us\)`)

// switchStalls counts the stalls of a poll thread under load, while each second has its command. Rules replace the bridge's own.
func (b *bench) switchStalls(ctx context.Context, secs int, command func(*gv) func(int) error, rules ...string) (s stall, err error) {
	sw, err := b.startGV(ctx)
	if err != nil {
		return s, err
	}
	defer sw.stop()
	sockets, err := pair(ctx, sw)
	if err != nil {
		return s, err
	}
	if err := b.setRules(ctx, sw, rules); err != nil {
		return s, err
	}
	done := b.load(ctx, sockets, secs)
	if _, err := sw.ctl(ctx, "dpif-netdev/pmd-stats-clear"); err != nil {
		return s, err
	}
	if err := eachSecond(secs, command(sw)); err != nil {
		return s, err
	}
	text, err := sw.ctl(ctx, "dpif-netdev/pmd-perf-show")
	if err != nil {
		return s, err
	}
	m := stallLine.FindStringSubmatch(text)
	if m == nil {
		return s, fmt.Errorf("pmd-perf-show tells no stalls:\n%s", text)
	}
	for i, to := range []*float64{&s.Count, &s.Max} {
		*to, _ = strconv.ParseFloat(m[1+i], 64)
	}
	return s, <-done
}

// eachSecond runs a command at the beginning of each second.
func eachSecond(secs int, command func(int) error) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for i := range secs {
		if err := command(i); err != nil {
			return err
		}
		<-tick.C
	}
	return nil
}

// spinStalls counts the stalls of a busy loop in the poll thread's place. With a command, what it costs the machine goes on beside it.
func (b *bench) spinStalls(ctx context.Context, secs int, command func(*gv) func(int) error, rules ...string) (s stall, err error) {
	// Something must take the generator's frames while the loop runs: a switch
	// whose poll thread shares the generator's CPU.
	sw, err := b.startGV(ctx, "pmd-cpu-mask=0x2")
	if err != nil {
		return s, err
	}
	defer sw.stop()
	sockets, err := pair(ctx, sw)
	if err != nil {
		return s, err
	}
	if err := b.setRules(ctx, sw, rules); err != nil {
		return s, err
	}
	done := b.load(ctx, sockets, secs)
	beside := make(chan error, 1)
	go func() {
		if command == nil {
			beside <- nil
			return
		}
		beside <- eachSecond(secs, command(sw))
	}()
	out, err := exec.CommandContext(ctx, b.spin, "0", fmt.Sprint(secs)).Output()
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(out, &s); err != nil {
		return s, err
	}
	if err := <-beside; err != nil {
		return s, err
	}
	return s, <-done
}
