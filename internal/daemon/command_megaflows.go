package daemon

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/pipeline/odp"
)

func (c *commands) megaflowCommands() []entry {
	return []entry{
		{"dpctl/dump-flows", "[-m] [--names] [DP] [filter=FLOW] [type=TYPE] [pmd=CORE]", 0, control.Unlimited, c.dumpMegaflows},
		{"dpif/dump-flows", "[-m] [--names] BRIDGE", 1, 3, c.dumpBridgeMegaflows},
		{"dpctl/del-flows", "[DP]", 0, 1, c.delMegaflows},
		{"dpif-netdev/subtable-lookup-info-get", "", 0, 0, c.subtables},
		{"dpif-netdev/subtable-lookup-prio-get", "", 0, 0, c.lookupFunctions},
		{"upcall/show", "", 0, 0, c.upcallShow},
		{"upcall/set-flow-limit", "N", 1, 1, c.setFlowLimit},
		{"revalidator/wait", "", 0, 0, c.revalidatorWait},
		{"revalidator/purge", "", 0, 0, func([]string) (control.Result, error) { return c.delMegaflows(nil) }},
	}
}

// megaflowCall is what dpctl/dump-flows is asked.
type megaflowCall struct {
	more, names bool
	none        bool // a type of which there are none
	core        int  // anyCore: all
	filter      *flow.Match
	bridge      string // "": all
}

func (c *commands) dumpMegaflows(args []string) (control.Result, error) {
	call := megaflowCall{core: anyCore}
	for _, a := range args {
		key, v, _ := strings.Cut(a, "=")
		switch key {
		case "-m", "--more":
			call.more = true
		case "--names":
			call.names = true
		case "--no-names", dpName, "ovs-netdev":
		case "filter":
			call.filter = &flow.Match{}
			if err := call.filter.Parse(v, c.datapathPorts()); err != nil {
				return control.Result{}, fmt.Errorf("filter %q: %w", v, err)
			}
		case "type":
			for t := range strings.SplitSeq(v, ",") {
				if !slices.Contains([]string{"all", "ovs", "non-offloaded", "dpdk", "tc", "offloaded", "partially-offloaded"}, t) {
					return control.Result{}, fmt.Errorf("type=%s: not a type of flow", t)
				}
			}
			// All are in this process; there is no hardware or kernel that would have some.
			call.none = !slices.ContainsFunc(strings.Split(v, ","), func(t string) bool { return t == "all" || t == "ovs" || t == "non-offloaded" })
		case "pmd":
			n, err := strconv.Atoi(v)
			if err != nil {
				return control.Result{}, fmt.Errorf("pmd=%s: not a core", v)
			}
			call.core = n
		default:
			return control.Result{}, fmt.Errorf("dpctl/dump-flows: unknown argument %q", a)
		}
	}
	return c.megaflows(call)
}

func (c *commands) dumpBridgeMegaflows(args []string) (control.Result, error) {
	call := megaflowCall{core: anyCore}
	for _, a := range args {
		switch a {
		case "-m":
			call.more = true
		case "--names":
			call.names = true
		case "--no-names":
		default:
			b, err := c.bridge(a)
			if err != nil {
				return control.Result{}, err
			}
			call.bridge = b.Name
		}
	}
	if call.bridge == "" {
		return control.Result{}, fmt.Errorf("dpif/dump-flows: takes a bridge")
	}
	return c.megaflows(call)
}

// megaflowValue is a megaflow for programs.
type megaflowValue struct {
	Core    int      `json:"core"` // -1: not pinned
	Match   string   `json:"match"`
	Actions string   `json:"actions"`
	Packets uint64   `json:"packets"`
	Bytes   uint64   `json:"bytes"`
	Used    *float64 `json:"used"` // seconds ago; null: never
}

// megaflows prints them thread by thread.
func (c *commands) megaflows(call megaflowCall) (control.Result, error) {
	names := c.datapathNames(call.names || call.more)
	values := []megaflowValue{}
	var out []byte
	thread := -2
	for _, f := range c.dp.DumpMegaflows() {
		if !call.wants(&f, c) {
			continue
		}
		if f.Thread != thread && call.bridge == "" {
			thread = f.Thread
			out = append(out, threadHeading(thread)...)
		}
		match := string(odp.AppendMegaflow(nil, &f.Match, names))
		actions := string(odp.AppendActions(nil, f.Actions, &f.Match.Key, names))
		v := megaflowValue{f.Thread, match, actions, f.Packets, f.Bytes, nil}
		used := "never"
		if f.Used >= 0 {
			s := f.Used.Seconds()
			v.Used, used = &s, fmt.Sprintf("%.3fs", s)
		}
		out = fmt.Appendf(out, "%s, packets:%d, bytes:%d, used:%s", match, f.Packets, f.Bytes, used)
		if f.TCPFlags != 0 {
			out = fmt.Appendf(out, ", flags:%s", tcpFlags(f.TCPFlags))
		}
		out = fmt.Appendf(out, ", actions:%s\n", actions)
		values = append(values, v)
	}
	return control.Result{Text: string(out), Value: values}, nil
}

func threadHeading(core int) string {
	if core < 0 {
		return "flow-dump from the thread that is not pinned:\n"
	}
	return fmt.Sprintf("flow-dump from pmd on cpu core: %d\n", core)
}

// wants tells whether a megaflow is to be shown: one that has packets of the filter, or could.
func (call *megaflowCall) wants(f *datapath.Megaflow, c *commands) bool {
	switch {
	case call.none, call.core != anyCore && call.core != f.Thread:
		return false
	case call.bridge != "":
		p := f.InPort
		return p != nil && c.directory().Bridge(call.bridge) != nil && c.directory().Bridge(call.bridge).Port(p.Name()) != nil
	case call.filter == nil:
		return true
	}
	for i := range f.Match.Key {
		if (f.Match.Key[i]^call.filter.Key[i])&f.Match.Mask[i]&call.filter.Mask[i] != 0 {
			return false
		}
	}
	return true
}

// tcpFlags writes flags as Open vSwitch does, e.g. "SP.".
func tcpFlags(flags uint16) string {
	var b strings.Builder
	for i, letter := range "FSRP.UECN" {
		if flags>>i&1 != 0 {
			b.WriteRune(letter)
		}
	}
	return b.String()
}

// portNumbers understands the names of ports as numbers of the datapath.
type portNumbers map[string]uint32

// PortNumber implements flow.PortNames.
func (n portNumbers) PortNumber(name string) (uint32, bool) { v, ok := n[name]; return v, ok }

// PortName implements flow.PortNames.
func (portNumbers) PortName(uint32) string { return "" }

func (c *commands) datapathPorts() portNumbers {
	n := portNumbers{}
	for id, name := range c.datapathNames(true) {
		n[name] = id
	}
	return n
}

// delMegaflows empties the megaflow tables. What is in flight is not disturbed: the next packets are translated again.
func (c *commands) delMegaflows(args []string) (control.Result, error) {
	if len(args) == 1 && args[0] != dpName && args[0] != "ovs-netdev" {
		return control.Result{}, fmt.Errorf("no such datapath: %q; there is one, %s", args[0], dpName)
	}
	c.dp.PurgeMegaflows()
	return control.Result{}, nil
}

// subtables shows the masks of each thread's megaflow table, in the order in which they are tried.
func (c *commands) subtables([]string) (control.Result, error) {
	var out strings.Builder
	type subtable struct {
		Core  int    `json:"core"`
		Mask  string `json:"mask"`
		Flows int    `json:"flows"`
		Hits  uint64 `json:"hits"`
	}
	values := []subtable{}
	thread := -2
	for _, s := range c.dp.SubtableInfo() {
		if s.Thread != thread {
			thread = s.Thread
			fmt.Fprintf(&out, "%s", strings.Replace(threadHeading(thread), "flow-dump from", "subtables of", 1))
		}
		mask := maskText(&s.Mask)
		fmt.Fprintf(&out, "  %s: flows:%d, hits:%d\n", mask, s.Flows, s.Hits)
		values = append(values, subtable{s.Thread, mask, s.Flows, s.Hits})
	}
	if out.Len() == 0 {
		out.WriteString("no subtables: no megaflow is in use\n")
	}
	return control.Result{Text: out.String(), Value: values}, nil
}

// maskText lists the fields of which a mask has bits: "in_port,eth_type,nw_src/24".
func maskText(mask *flow.Key) string {
	var parts []string
	var seen flow.Key
	for _, f := range flow.Fields() {
		all := flow.Ones(uint(f.Bits))
		v := f.Get(mask).And(all)
		if v.IsZero() {
			continue
		}
		// Fields that are other names of bits that were listed add nothing.
		var bits flow.Key
		f.Set(&bits, v)
		fresh := false
		for i := range bits {
			fresh = fresh || bits[i]&^seen[i] != 0
			seen[i] |= bits[i]
		}
		if !fresh {
			continue
		}
		switch {
		case v == all:
			parts = append(parts, f.Name)
		case v.Hi == 0:
			parts = append(parts, fmt.Sprintf("%s/%#x", f.Name, v.Lo))
		default:
			parts = append(parts, fmt.Sprintf("%s/0x%x%016x", f.Name, v.Hi, v.Lo))
		}
	}
	if len(parts) == 0 {
		return "(nothing)"
	}
	return strings.Join(parts, ",")
}

// lookupFunctions has no choice to show: there is one implementation, which specialises itself.
func (c *commands) lookupFunctions([]string) (control.Result, error) {
	n := len(c.dp.SubtableInfo())
	return control.Result{
		Text:  fmt.Sprintf("Available dpcls implementations:\n  generic (Use count: %d, Priority: 1)\n", n),
		Value: map[string]int{"generic": n},
	}, nil
}

func (c *commands) upcallShow([]string) (control.Result, error) {
	stats := c.dp.CacheStats()
	current := uint64(0)
	for _, s := range stats {
		current += uint64(s.Megaflows)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s:\n  flows         : (current %d) (limit %d)\n\n", dpName, current, c.dp.FlowConfig().Limit)
	for _, s := range stats {
		name := "not pinned"
		if s.Thread >= 0 {
			name = fmt.Sprintf("core %d", s.Thread)
		}
		fmt.Fprintf(&out, "  %s: (keys %d)\n", name, s.Megaflows)
	}
	return control.Result{Text: out.String(), Value: value(stats)}, nil
}

func (c *commands) setFlowLimit(args []string) (control.Result, error) {
	n, err := strconv.ParseUint(args[0], 10, 31)
	if err != nil {
		return control.Result{}, fmt.Errorf("flow limit %q: not a number", args[0])
	}
	config := c.dp.FlowConfig()
	config.Limit = int(n)
	c.dp.SetFlowConfig(config)
	return text("set flow_limit to %d\n", n)
}

// revalidatorWait returns when the megaflows agree with the tables and their counts are in the flows'.
func (c *commands) revalidatorWait([]string) (control.Result, error) {
	c.dp.SyncFlowStats()
	return control.Result{}, nil
}
