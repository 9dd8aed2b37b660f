package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// footprint measures gvswitchd's memory under load and its CPU time when its
// guests are idle, at default settings.
func (b *bench) footprint(ctx context.Context) (table, error) {
	t := table{head: []string{"gvswitchd", "figure"}}
	sw, err := b.startGV(ctx, "adaptive")
	if err != nil {
		return t, err
	}
	defer sw.stop()
	sockets, err := pair(ctx, sw)
	if err != nil {
		return t, err
	}
	done := make(chan error, 1)
	go func() {
		_, err := b.generate(ctx, sockets, traffic{size: "1518", flows: 16384, macs: 1000, secs: 5}, nil)
		done <- err
	}()
	time.Sleep(4 * time.Second)
	kb, err := rss(sw.p.Pid())
	if err != nil {
		return t, err
	}
	t.add("RssAnon + RssFile under load, two front ends", fmt.Sprintf("%.1f MB", float64(kb)/1024))
	if err := <-done; err != nil {
		return t, err
	}
	idle, err := b.idleCPU(ctx)
	if err != nil {
		return t, err
	}
	t.add("CPU with two idle Linux guests, of one core", fmt.Sprintf("%.2f %%", idle*100))
	return t, nil
}

// rss is a process's own memory in kB: anonymous and of files, without what it shares
// with its guests.
func rss(pid int) (kb int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 3 && (f[0] == "RssAnon:" || f[0] == "RssFile:") {
			n, err := strconv.Atoi(f[1])
			if err != nil {
				return 0, err
			}
			kb += n
		}
	}
	return kb, nil
}

// cpuTime is the CPU time that a process has used, all threads.
func cpuTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat: %q", pid, text)
	}
	user, err := strconv.Atoi(f[11])
	if err != nil {
		return 0, err
	}
	sys, err := strconv.Atoi(f[12])
	const tick = time.Second / 100 // USER_HZ, the same on all Linux platforms
	return time.Duration(user+sys) * tick, err
}

// idleCPU is gvswitchd's share of one CPU over ten seconds with two Linux guests that
// do nothing, everything at its default.
func (b *bench) idleCPU(ctx context.Context) (float64, error) {
	sw, err := b.startGV(ctx, "adaptive")
	if err != nil {
		return 0, err
	}
	defer sw.stop()
	for i := range 2 {
		socket, err := sw.vhost(ctx, fmt.Sprintf("vm%d", i))
		if err != nil {
			return 0, err
		}
		vm, err := bootUML(ctx, i, socket)
		if err != nil {
			return 0, err
		}
		defer vm.Stop()
	}
	time.Sleep(3 * time.Second) // neighbour discovery and the like
	before, err := cpuTime(sw.p.Pid())
	if err != nil {
		return 0, err
	}
	time.Sleep(10 * time.Second)
	after, err := cpuTime(sw.p.Pid())
	return (after - before).Seconds() / 10, err
}
