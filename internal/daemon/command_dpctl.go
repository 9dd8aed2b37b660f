package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
)

// dpName is the name of the one datapath, as tools of Open vSwitch know it.
const dpName = "netdev@ovs-netdev"

func (c *commands) dpctlCommands() []entry {
	return []entry{
		{"dpctl/show", "[DP]", 0, 1, c.dpctlShow},
		{"dpctl/dump-dps", "", 0, 0, func([]string) (control.Result, error) { return text("%s\n", dpName) }},
		{"dpif/show", "", 0, 0, c.dpifShow},
	}
}

// portValue is a port for programs.
type portValue struct {
	Number int               `json:"number"` // in the datapath
	OFPort uint16            `json:"ofport"`
	Name   string            `json:"name"`
	Bridge string            `json:"bridge"`
	Type   string            `json:"type"`
	Link   bool              `json:"link"`
	Status map[string]string `json:"status"`
}

func portValueOf(p *reconcile.PortEntry) portValue {
	info := p.DP.Info()
	return portValue{p.DP.ID(), p.OFPort, p.Name, p.Bridge, string(p.Kind), info.Link, info.Status}
}

// detail is what the device says about itself, after its type.
func (v *portValue) detail() string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(v.Status)) {
		parts = append(parts, k+"="+v.Status[k])
	}
	if len(parts) == 0 {
		return v.Type
	}
	return v.Type + ": " + strings.Join(parts, ", ")
}

// lookups sums up what the threads' lookups came to.
func (c *commands) lookups() (hit, missed uint64) {
	for _, t := range c.dp.Threads() {
		hit += t.CacheHits + t.TableHits
		missed += t.Misses
	}
	return hit, missed
}

func (c *commands) dpctlShow(args []string) (control.Result, error) {
	if _, err := parsePMDArgs(args); err != nil {
		return control.Result{}, err
	}
	hit, missed := c.lookups()
	var out strings.Builder
	flows := 0
	for _, s := range c.dp.CacheStats() {
		flows += s.Megaflows
	}
	fmt.Fprintf(&out, "%s:\n  lookups: hit:%d missed:%d lost:0\n  flows: %d\n", dpName, hit, missed, flows)
	values := []portValue{}
	for _, b := range c.directory().Bridges {
		for _, p := range b.Ports {
			values = append(values, portValueOf(p))
		}
	}
	slices.SortFunc(values, func(a, b portValue) int { return a.Number - b.Number })
	for i := range values {
		fmt.Fprintf(&out, "  port %d: %s (%s)\n", values[i].Number, values[i].Name, values[i].detail())
	}
	return control.Result{Text: out.String(), Value: values}, nil
}

func (c *commands) dpifShow([]string) (control.Result, error) {
	hit, missed := c.lookups()
	var out strings.Builder
	fmt.Fprintf(&out, "%s: hit:%d missed:%d\n", dpName, hit, missed)
	values := map[string][]portValue{}
	for _, b := range c.directory().Bridges {
		fmt.Fprintf(&out, "  %s:\n", b.Name)
		values[b.Name] = []portValue{}
		for _, p := range b.Ports {
			v := portValueOf(p)
			values[b.Name] = append(values[b.Name], v)
			fmt.Fprintf(&out, "    %s %d/%d: (%s)\n", p.Name, p.OFPort, v.Number, v.detail())
		}
	}
	return control.Result{Text: out.String(), Value: values}, nil
}
