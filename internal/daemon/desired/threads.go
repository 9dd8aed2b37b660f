package desired

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxSleep is the largest pmd-sleep-max in microseconds, as in ovs-vswitchd.conf.db(5).
const maxSleep = 10000

// readThreads reads the pmd-* keys. It returns nil when one is wrong.
func readThreads(o *options, allowed []int) *Threads {
	t := &Threads{}
	if mask, ok := o.take("pmd-cpu-mask"); ok && mask != "" {
		cpus, err := parseMask(mask, allowed)
		if err != nil {
			o.fail("pmd-cpu-mask", mask, "%v", err)
		}
		t.CPUs = cpus
	}
	if v, ok := o.take("pmd-sleep-max"); ok {
		n, err := strconv.Atoi(v)
		switch {
		case err != nil && strings.ContainsAny(v, ",:"):
			o.fail("pmd-sleep-max", v, "values for single cores are not supported; give one number of microseconds")
		case err != nil || n < 0 || n > maxSleep:
			o.fail("pmd-sleep-max", v, "not a number of microseconds between 0 and %d", maxSleep)
		case n == 0:
			t.Sleep = SleepNever
		default:
			t.Sleep, t.Max = SleepTimed, time.Duration(n)*time.Microsecond
		}
	}
	t.Assign = o.choice("pmd-rxq-assign", "cycles", "cycles", "group", "roundrobin")
	t.Isolate = o.boolean("pmd-rxq-isolate", true)
	if o.bad {
		return nil
	}
	return t
}

// parseMask reads a mask of cores in hexadecimal, with or without "0x".
func parseMask(s string, allowed []int) ([]int, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	mask, ok := new(big.Int).SetString(digits, 16)
	if !ok || mask.Sign() < 0 || digits[0] == '+' {
		return nil, fmt.Errorf("not a mask in hexadecimal")
	}
	var cpus []int
	for i := range mask.BitLen() {
		if mask.Bit(i) == 0 {
			continue
		}
		if !slices.Contains(allowed, i) {
			return nil, fmt.Errorf("CPU %d does not exist or this process may not use it (it may use %v)", i, allowed)
		}
		cpus = append(cpus, i)
	}
	return cpus, nil
}

// parseAffinity reads "QUEUE:CORE,...".
func parseAffinity(s string) (map[int]int, error) {
	m := map[int]int{}
	for pair := range strings.SplitSeq(s, ",") {
		q, c, ok := strings.Cut(strings.TrimSpace(pair), ":")
		queue, err1 := strconv.ParseUint(q, 10, 15)
		core, err2 := strconv.ParseUint(c, 10, 15)
		if !ok || err1 != nil || err2 != nil {
			return nil, fmt.Errorf("%q is not QUEUE:CORE", pair)
		}
		if _, twice := m[int(queue)]; twice {
			return nil, fmt.Errorf("queue %d is named twice", queue)
		}
		m[int(queue)] = int(core)
	}
	return m, nil
}
