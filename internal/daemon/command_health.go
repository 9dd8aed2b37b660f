package daemon

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/packet"
)

func (c *commands) healthCommands() []entry {
	return []entry{
		{"coverage/show", "", 0, 0, c.coverageShow},
		{"coverage/read-counter", "COUNTER", 1, 1, c.coverageRead},
		{"memory/show", "", 0, 0, c.memoryShow},
		{"conservation/check", "", 0, 0, c.conservation},
	}
}

// counters are all events that the switch counts, by name: losses by reason over all ports, what happened to the MAC tables, and what the
// control code did.
func (c *commands) counters() (names []string, values map[string]uint64) {
	values = map[string]uint64{}
	add := func(name string, n uint64) {
		if _, ok := values[name]; !ok {
			names = append(names, name)
		}
		values[name] += n
	}
	for r := packet.DropNone + 1; r < packet.NumDropReasons; r++ {
		add("drop_"+r.String(), 0)
	}
	for _, name := range []string{"learned", "expired", "evicted", "moved", "static_none_move"} {
		add("mac_learning_"+name, 0)
	}
	for _, b := range c.directory().Bridges {
		s := b.DP.MACStats()
		add("mac_learning_learned", s.Learned)
		add("mac_learning_expired", s.Expired)
		add("mac_learning_evicted", s.Evicted)
		add("mac_learning_moved", s.Moved)
		add("mac_learning_static_none_move", s.StaticMoveDropped)
		for _, p := range b.Ports {
			st := p.DP.Stats()
			for r, n := range st.RxDrops {
				if n > 0 {
					add("drop_"+packet.DropReason(r).String(), n)
				}
			}
			for r, n := range st.TxDrops {
				if n > 0 {
					add("drop_"+packet.DropReason(r).String(), n)
				}
			}
		}
	}
	for _, t := range c.dp.Threads() {
		add("poll_stall_over_200us", t.Stalls.Over200us)
		add("poll_stall_over_1ms", t.Stalls.Over1ms)
		add("poll_sleep", t.Sleeps)
	}
	for name, n := range c.dp.Coverage() {
		add(name, n)
	}
	c.events.each(add)
	slices.Sort(names)
	return names, values
}

// coverageValue is a counter for programs.
type coverageValue struct {
	Total uint64 `json:"total"`
	rate
}

func (c *commands) coverageShow([]string) (control.Result, error) {
	names, counts := c.counters()
	var out strings.Builder
	out.WriteString("Event coverage, avg rate over last: 5 seconds, last minute, last hour:\n")
	values := map[string]coverageValue{}
	never := 0
	for _, n := range names {
		v := coverageValue{counts[n], c.coverage.of(n)}
		values[n] = v
		if v.Total == 0 {
			never++
			continue
		}
		fmt.Fprintf(&out, "%-32s %7.1f/sec %9.3f/sec %13.4f/sec   total: %d\n", n, v.Recent, v.Minute, v.Hour, v.Total)
	}
	fmt.Fprintf(&out, "%d events never hit\n", never)
	return control.Result{Text: out.String(), Value: values}, nil
}

func (c *commands) coverageRead(args []string) (control.Result, error) {
	_, values := c.counters()
	n, ok := values[args[0]]
	if !ok {
		return control.Result{}, fmt.Errorf("no such counter: %q", args[0])
	}
	return control.Result{Text: strconv.FormatUint(n, 10), Value: n}, nil
}

// memoryShow says what the process holds, so that what is left behind shows.
func (c *commands) memoryShow([]string) (control.Result, error) {
	v := memoryUse()
	v["ports"] = 0
	for _, b := range c.directory().Bridges {
		v["ports"] += uint64(len(b.Ports))
	}
	var out strings.Builder
	for i, name := range []string{
		"ports", "goroutines", "threads", "heap-kB", "heap-live-kB", "go-total-kB", "gc-cycles", "rss-anon-kB", "rss-file-kB", "rss-shmem-kB", "fds", "mappings",
	} {
		if i > 0 {
			out.WriteByte(' ')
		}
		fmt.Fprintf(&out, "%s:%d", name, v[name])
	}
	return control.Result{Text: out.String(), Value: v}, nil
}

func memoryUse() map[string]uint64 {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(samples)
	v := map[string]uint64{
		"goroutines":   uint64(runtime.NumGoroutine()),
		"heap-kB":      samples[0].Value.Uint64() >> 10,
		"heap-live-kB": samples[1].Value.Uint64() >> 10,
		"go-total-kB":  samples[2].Value.Uint64() >> 10,
		"gc-cycles":    samples[3].Value.Uint64(),
	}
	if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
		v["fds"] = uint64(len(fds)) - 1 // the one that read the directory
	}
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil {
		v["mappings"] = uint64(strings.Count(string(maps), "\n"))
	}
	text, _ := os.ReadFile("/proc/self/status") // without it the numbers stay 0
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		if len(fields) == 0 {
			continue
		}
		n, _ := strconv.ParseUint(fields[0], 10, 64)
		switch key {
		case "RssAnon":
			v["rss-anon-kB"] = n
		case "RssFile":
			v["rss-file-kB"] = n
		case "RssShmem":
			v["rss-shmem-kB"] = n
		case "Threads":
			v["threads"] = n
		}
	}
	return v
}

func (c *commands) conservation([]string) (control.Result, error) {
	r, err := c.dp.Conservation()
	if err != nil {
		return control.Result{}, err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "received %d = forwarded %d + dropped %d\n", r.Received, r.Forwarded, r.Dropped)
	fmt.Fprintf(&out, "copies %d + segments %d = sent %d + dropped %d\n", r.Copies, r.Segments, r.Sent, r.TxDropped)
	fmt.Fprintf(&out, "injected %d, of which %d wait; lost by devices before they were received: %d\n", r.Injected, r.Held, r.Device)
	return control.Result{Text: out.String(), Value: value(r)}, nil
}
