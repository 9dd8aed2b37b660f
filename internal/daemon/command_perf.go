package daemon

import (
	"fmt"
	"strings"
	"time"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/cpu"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
)

func (c *commands) pmdPerf(args []string) (control.Result, error) {
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
		t := &threads[i]
		fmt.Fprintf(&out, "Time: %s\nMeasurement duration: %.3f s\n\n", time.Now().Format("15:04:05.000"), t.Running.Seconds())
		out.WriteString(threadTitle(t.Core, t.NUMA))
		out.WriteString("\n")
		writePerf(&out, t)
		if !a.terse {
			writeHistograms(&out, t)
		}
	}
	return control.Result{Text: out.String(), Value: value(threads)}, nil
}

// writePerf writes a thread's figures in OVS's lines.
func writePerf(out *strings.Builder, t *datapath.ThreadStats) {
	seconds := t.Running.Seconds()
	used := t.Busy + t.Idle
	kpps := func(n uint64) float64 {
		if seconds == 0 {
			return 0
		}
		return float64(n) / seconds / 1000
	}
	busy := t.Cycles.Count()
	elapsed := uint64(seconds * float64(cpu.HZ()))
	fmt.Fprintf(out, "  Iterations:         %12d  (%.2f us/it)\n", t.Iterations, 1e6*float64(cpu.Duration(used))/1e9/max(float64(t.Iterations), 1))
	fmt.Fprintf(out, "  - Used TSC cycles:  %12d  (%5.1f %% of total cycles)\n", used, 100*ratio(used, elapsed))
	fmt.Fprintf(out, "  - idle iterations:  %12d  (%5.1f %% of used cycles)\n", t.Iterations-min(busy, t.Iterations), 100*ratio(t.Idle, used))
	fmt.Fprintf(out, "  - busy iterations:  %12d  (%5.1f %% of used cycles)\n", busy, 100*ratio(t.Busy, used))
	fmt.Fprintf(out, "  - sleep iterations: %12d  (%5.1f %% of iterations)\n", t.Sleeps, 100*ratio(t.Sleeps, t.Iterations))
	fmt.Fprintf(out, "  Sleep time (us):    %12d  (%3.0f us/iteration avg.)\n", t.SleepTime.Microseconds(), ratio(uint64(t.SleepTime.Microseconds()), t.Sleeps))
	fmt.Fprintf(out, "  Rx packets:         %12d  (%.0f Kpps, %.0f cycles/pkt)\n", t.Packets, kpps(t.Packets), ratio(t.Busy, t.Packets))
	passes := t.Packets + t.Recirc
	fmt.Fprintf(out, "  Datapath passes:    %12d  (%.2f passes/pkt)\n", passes, ratio(passes, t.Packets))
	fmt.Fprintf(out, "  - EMC hits:         %12d  (%5.1f %%)\n", t.CacheHits, 100*ratio(t.CacheHits, passes))
	fmt.Fprintf(out, "  - MAC table hits:   %12d  (%5.1f %%)\n", t.TableHits, 100*ratio(t.TableHits, passes))
	fmt.Fprintf(out, "  - Misses:           %12d  (%5.1f %%)\n", t.Misses, 100*ratio(t.Misses, passes))
	fmt.Fprintf(out, "  Tx packets:         %12d  (%.0f Kpps)\n", t.TxPackets, kpps(t.TxPackets))
	fmt.Fprintf(out, "  Tx batches:         %12d  (%.2f pkts/batch)\n", t.TxBatches, ratio(t.TxPackets, t.TxBatches))
	fmt.Fprintf(out, "  Stalls:             %12d  over 200 us (%d over 1 ms, longest %d us)\n\n", t.Stalls.Over200us, t.Stalls.Over1ms, t.Stalls.Longest.Microseconds())
}

// writeHistograms writes the three histograms side by side: a bucket's upper bound and its count.
func writeHistograms(out *strings.Builder, t *datapath.ThreadStats) {
	fmt.Fprintf(out, "  %-22s %-22s %-22s\n", "cycles/it", "packets/burst", "cycles/pkt")
	for i := range datapath.HistogramBuckets {
		counts := [...]uint64{t.Cycles[i], t.PerBurst[i], t.PerPacket[i]}
		if counts == [3]uint64{} {
			continue
		}
		bound := fmt.Sprintf("%d", uint64(1)<<i-1)
		if i == datapath.HistogramBuckets-1 {
			bound = ">"
		}
		for _, n := range counts {
			fmt.Fprintf(out, "  %9s %11d", bound, n)
		}
		out.WriteString("\n")
	}
	out.WriteString("\n")
}

// sleepValue is the sleep settings for programs.
type sleepValue struct {
	Mode  string `json:"mode"` // "adaptive", "never" or "timed"
	MaxUS int64  `json:"max_us"`
}

func (c *commands) pmdSleep(args []string) (control.Result, error) {
	if _, err := parsePMDArgs(args); err != nil {
		return control.Result{}, err
	}
	cfg := c.directory().Threads
	v := sleepValue{Mode: "adaptive"}
	line := "Poll threads sleep until a queue has packets (adaptive).\n"
	switch cfg.Sleep {
	case desired.SleepNever:
		v.Mode = "never"
		line = "PMD max sleep request is 0 usecs.\nPMD load based sleeps are disabled.\n"
	case desired.SleepTimed:
		v = sleepValue{"timed", cfg.Max.Microseconds()}
		line = fmt.Sprintf("PMD max sleep request is %d usecs.\nPMD load based sleeps are enabled.\n", v.MaxUS)
	}
	return control.Result{Text: line, Value: v}, nil
}
