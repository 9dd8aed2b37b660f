package daemon

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/control"
)

func (c *commands) pmdCommands() []entry {
	list := []entry{
		{"dpif-netdev/pmd-stats-show", "[-pmd CORE] [DP]", 0, 3, c.pmdStats},
		{"dpif-netdev/pmd-stats-clear", "[-pmd CORE] [DP]", 0, 3, c.pmdStatsClear},
		{"dpif-netdev/pmd-rxq-show", "[-pmd CORE] [DP]", 0, 3, c.pmdQueues},
		{"dpif-netdev/pmd-rxq-rebalance", "[DP]", 0, 1, c.pmdRebalance},
		{"dpif-netdev/pmd-perf-show", "[-nh] [-pmd CORE] [DP]", 0, 4, c.pmdPerf},
		{"dpif-netdev/pmd-sleep-show", "[DP]", 0, 1, c.pmdSleep},
	}
	for _, e := range slices.Clone(list) { // the short form, which is easier to type
		e.name = strings.TrimPrefix(e.name, "dpif-netdev/")
		list = append(list, e)
	}
	return list
}

// pmdArgs is what the pmd commands take: a core, and the name of the one datapath.
type pmdArgs struct {
	core  int // anyCore: all
	terse bool
}

const anyCore = -2

func parsePMDArgs(args []string) (pmdArgs, error) {
	a := pmdArgs{core: anyCore}
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-nh":
			a.terse = true
		case "-pmd":
			i++
			if i == len(args) {
				return a, fmt.Errorf("-pmd: needs a core")
			}
			n, err := strconv.Atoi(args[i])
			if err != nil || n < 0 {
				return a, fmt.Errorf("-pmd %q: not a core", args[i])
			}
			a.core = n
		case dpName, "ovs-netdev":
		default:
			return a, fmt.Errorf("%q: please specify an existing datapath (the one there is, is %q)", args[i], dpName)
		}
	}
	return a, nil
}

// threads returns the poll threads that the arguments choose.
func (c *commands) threads(a pmdArgs) ([]datapath.ThreadStats, error) {
	all := c.dp.Threads()
	if a.core == anyCore {
		return all, nil
	}
	for _, t := range all {
		if t.Core == a.core {
			return []datapath.ThreadStats{t}, nil
		}
	}
	return nil, fmt.Errorf("-pmd %d: no poll thread on this core", a.core)
}

func threadTitle(core, numa int) string {
	if core < 0 {
		return "pmd thread numa_id 0 core_id any (not pinned):\n"
	}
	return fmt.Sprintf("pmd thread numa_id %d core_id %d:\n", numa, core)
}

func (c *commands) pmdStats(args []string) (control.Result, error) {
	a, err := parsePMDArgs(args)
	if err != nil {
		return control.Result{}, err
	}
	threads, err := c.threads(a)
	if err != nil {
		return control.Result{}, err
	}
	var out strings.Builder
	for i := range threads {
		writeThread(&out, &threads[i])
	}
	return control.Result{Text: out.String(), Value: value(threads)}, nil
}

// writeThread writes a thread's counters in the lines of OVS 3.1, those of caches that are not there excepted. "emc hits" are those of the
// thread's caches, "megaflow hits" those of megaflows that were searched for, and of the MAC table where NORMAL is the only rule.
func writeThread(out *strings.Builder, t *datapath.ThreadStats) {
	out.WriteString(threadTitle(t.Core, t.NUMA))
	fmt.Fprintf(out, "  packets received: %d\n", t.Packets)
	fmt.Fprintf(out, "  packet recirculations: %d\n", t.Recirc)
	fmt.Fprintf(out, "  avg. datapath passes per packet: %.02f\n", ratio(t.Packets+t.Recirc, t.Packets))
	fmt.Fprintf(out, "  emc hits: %d\n", t.CacheHits)
	fmt.Fprintf(out, "  megaflow hits: %d\n", t.TableHits)
	fmt.Fprintf(out, "  miss with success upcall: %d\n", t.Misses)
	fmt.Fprintf(out, "  miss with failed upcall: 0\n")
	fmt.Fprintf(out, "  avg. packets per output batch: %.02f\n", ratio(t.TxPackets, t.TxBatches))
	total := t.Busy + t.Idle
	if total == 0 {
		return
	}
	fmt.Fprintf(out, "  idle cycles: %d (%.02f%%)\n", t.Idle, 100*ratio(t.Idle, total))
	fmt.Fprintf(out, "  processing cycles: %d (%.02f%%)\n", t.Busy, 100*ratio(t.Busy, total))
	if t.Packets == 0 {
		return
	}
	fmt.Fprintf(out, "  avg cycles per packet: %.02f (%d/%d)\n", ratio(total, t.Packets), total, t.Packets)
	fmt.Fprintf(out, "  avg processing cycles per packet: %.02f (%d/%d)\n", ratio(t.Busy, t.Packets), t.Busy, t.Packets)
}

func ratio(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func (c *commands) pmdStatsClear(args []string) (control.Result, error) {
	if _, err := parsePMDArgs(args); err != nil {
		return control.Result{}, err
	}
	c.dp.ClearThreadStats()
	return control.Result{}, nil
}

// queueValue is a queue for programs.
type queueValue struct {
	Port     string  `json:"port"`
	Queue    int     `json:"queue"`
	Core     int     `json:"core"`
	Usage    float64 `json:"usage"` // percent
	Pinned   bool    `json:"pinned"`
	Isolated bool    `json:"isolated"`
	Enabled  bool    `json:"enabled"`
}

func (c *commands) pmdQueues(args []string) (control.Result, error) {
	a, err := parsePMDArgs(args)
	if err != nil {
		return control.Result{}, err
	}
	threads, err := c.threads(a)
	if err != nil {
		return control.Result{}, err
	}
	queues := c.dp.Queues()
	var out strings.Builder
	out.WriteString("Displaying last 60 seconds pmd usage %\n")
	values := []queueValue{}
	for i := range threads {
		t := &threads[i]
		isolated := slices.ContainsFunc(queues, func(q datapath.QueueInfo) bool { return q.Thread == t.Core && q.Isolated })
		out.WriteString(threadTitle(t.Core, t.NUMA))
		fmt.Fprintf(&out, "  isolated : %v\n", isolated)
		for _, q := range queues {
			if q.Thread != t.Core {
				continue
			}
			enabled := "(disabled)"
			if q.Enabled {
				enabled = "(enabled) "
			}
			fmt.Fprintf(&out, "  port: %-16s  queue-id: %2d %s  pmd usage: %2.0f %%\n", q.Port.Name(), q.Queue, enabled, q.Usage)
			values = append(values, queueValue{q.Port.Name(), q.Queue, q.Thread, q.Usage, q.Pinned, q.Isolated, q.Enabled})
		}
	}
	return control.Result{Text: out.String(), Value: values}, nil
}

func (c *commands) pmdRebalance(args []string) (control.Result, error) {
	if _, err := parsePMDArgs(args); err != nil {
		return control.Result{}, err
	}
	c.dp.Rebalance()
	return text("pmd rxq rebalance requested.\n")
}
