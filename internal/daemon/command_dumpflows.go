package daemon

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/rules"
)

// shownFlow is a flow with its counters, at one time.
type shownFlow struct {
	ofp.Flow
	stats ofp.Stats
}

// flows returns those that a filter means, with counters that are right now.
func (c *commands) flows(b *reconcile.BridgeEntry, filter string) ([]shownFlow, error) {
	meant, err := flowFilter(b, filter)
	if err != nil {
		return nil, err
	}
	b.DP.SyncFlowStats()
	now := c.dp.Now()
	found := b.DP.Tables().Flows(meant)
	out := make([]shownFlow, len(found))
	for i, r := range found {
		out[i] = shownFlow{r.Flow(), ofp.Stats{
			Packets: r.Packets(), Bytes: r.Bytes(),
			Duration: max(now-r.Created(), 0), IdleAge: max(now-r.Used(), 0), HardAge: max(now-r.Modified(), 0),
		}}
	}
	return out, nil
}

// flowFilter reads which flows are meant; nil means all.
func flowFilter(b *reconcile.BridgeEntry, text string) (*ofp.FlowMod, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	m, err := ofp.ParseFlow(text, namesOf(b, true), ofp.Delete)
	return &m, err
}

func (c *commands) dumpFlows(args []string) (control.Result, error) {
	given, args, err := splitOptions("ofctl/dump-flows", args, "--names", "--no-stats", "--ages", "--sort=", "--rsort=")
	if err != nil {
		return control.Result{}, err
	}
	if len(args) < 1 || len(args) > 2 {
		return control.Result{}, fmt.Errorf("ofctl/dump-flows: takes a bridge and perhaps a flow")
	}
	b, err := c.bridge(args[0])
	if err != nil {
		return control.Result{}, err
	}
	flows, err := c.flows(b, operand(args, 1))
	if err != nil {
		return control.Result{}, err
	}
	if err := sortFlows(flows, given); err != nil {
		return control.Result{}, err
	}
	names := namesOf(b, slices.Contains(given, "--names"))
	stats, ages := !slices.Contains(given, "--no-stats"), slices.Contains(given, "--ages")
	var out []byte
	for i := range flows {
		f := &flows[i]
		if stats {
			s := f.stats
			if !ages {
				s.IdleAge, s.HardAge = -1, -1
			}
			out = f.AppendStats(out, names, s)
		} else {
			out = f.Append(out, names)
		}
		out = append(out, '\n')
	}
	return control.Result{Text: string(out), Value: lazy(func() any { return flowValues(flows, names) })}, nil
}

// flowValue is a flow for programs.
type flowValue struct {
	Table       uint8   `json:"table"`
	Priority    uint16  `json:"priority"`
	Cookie      string  `json:"cookie"` // hexadecimal: JSON's numbers do not have 64 bits everywhere
	Match       string  `json:"match"`
	Actions     string  `json:"actions"`
	IdleTimeout uint16  `json:"idle_timeout"`
	HardTimeout uint16  `json:"hard_timeout"`
	Importance  uint16  `json:"importance"`
	Packets     uint64  `json:"n_packets"`
	Bytes       uint64  `json:"n_bytes"`
	Duration    float64 `json:"duration"` // seconds
	IdleAge     float64 `json:"idle_age"`
}

func flowValues(flows []shownFlow, names ofp.Names) []flowValue {
	out := make([]flowValue, len(flows))
	for i := range flows {
		f := &flows[i]
		out[i] = flowValue{
			f.Table, f.Priority, "0x" + strconv.FormatUint(f.Cookie, 16), string(f.Match.Append(nil, names)), string(ofp.AppendActions(nil, f.Actions, names)),
			f.Idle, f.Hard, f.Importance, f.stats.Packets, f.stats.Bytes, float64(f.stats.Duration) / 1000, float64(f.stats.IdleAge) / 1000,
		}
	}
	return out
}

// sortFlows sorts by the options --sort=FIELD and --rsort=FIELD, the first of them first. Flows that do not match on a field come last,
// as in ovs-ofctl.
func sortFlows(flows []shownFlow, given []string) error {
	type key struct {
		field      *flow.Field // nil: the priority
		descending bool
	}
	var keys []key
	for _, g := range given {
		name, field, _ := strings.Cut(g, "=")
		if name != "--sort" && name != "--rsort" {
			continue
		}
		k := key{descending: name == "--rsort"}
		if field != "priority" {
			if k.field = flow.FieldByName(field); k.field == nil {
				return fmt.Errorf("%s: unknown field name", field)
			}
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil
	}
	slices.SortStableFunc(flows, func(a, b shownFlow) int {
		for _, k := range keys {
			order := 0
			if k.field == nil {
				order = cmp.Compare(a.Priority, b.Priority)
			} else {
				x, y := k.field.Get(&a.Match.Key), k.field.Get(&b.Match.Key)
				hasX, hasY := !k.field.Get(&a.Match.Mask).IsZero(), !k.field.Get(&b.Match.Mask).IsZero()
				switch {
				case hasX != hasY && hasX:
					return -1
				case hasX != hasY:
					return 1
				}
				order = cmp.Or(cmp.Compare(x.Hi, y.Hi), cmp.Compare(x.Lo, y.Lo))
			}
			if k.descending {
				order = -order
			}
			if order != 0 {
				return order
			}
		}
		return 0
	})
	return nil
}

func (c *commands) dumpAggregate(args []string) (control.Result, error) {
	b, err := c.bridge(args[0])
	if err != nil {
		return control.Result{}, err
	}
	filter, err := flowFilter(b, operand(args, 1))
	if err != nil {
		return control.Result{}, err
	}
	b.DP.SyncFlowStats()
	packets, bytes, n := b.DP.Tables().Aggregate(filter)
	return control.Result{
		Text:  fmt.Sprintf("packet_count=%d byte_count=%d flow_count=%d\n", packets, bytes, n),
		Value: map[string]uint64{"packet_count": packets, "byte_count": bytes, "flow_count": uint64(n)},
	}, nil
}

// bridgeDumpFlows shows all flows of a bridge. There are no hidden ones.
func (c *commands) bridgeDumpFlows(args []string) (control.Result, error) {
	b, err := c.bridge(args[0])
	if err != nil {
		return control.Result{}, err
	}
	flows, err := c.flows(b, "")
	if err != nil {
		return control.Result{}, err
	}
	names := namesOf(b, false)
	var out []byte
	for i := range flows {
		f := &flows[i]
		if f.Table != 0 {
			out = fmt.Appendf(out, "table_id=%d, ", f.Table)
		}
		out = fmt.Appendf(out, "duration=%ds, n_packets=%d, n_bytes=%d, ", f.stats.Duration/1000, f.stats.Packets, f.stats.Bytes)
		if f.Priority == ofp.DefaultPriority {
			out = f.Match.Append(out, names)
		} else {
			out = f.AppendRule(out, names)
		}
		out = append(ofp.AppendActions(append(out, ",actions="...), f.Actions, names), '\n')
	}
	return control.Result{Text: string(out), Value: lazy(func() any { return flowValues(flows, names) })}, nil
}

// lastTable is the last that can be used; 254 is not shown, as in Open vSwitch, which keeps flows of its own there.
const lastTable = 253

// dumpTables shows the tables as ovs-ofctl does: runs of the same are one entry.
func (c *commands) dumpTables(args []string) (control.Result, error) {
	given, args, err := splitOptions("ofctl/dump-tables", args, "--names")
	if err != nil {
		return control.Result{}, err
	}
	if len(args) != 1 {
		return control.Result{}, fmt.Errorf("ofctl/dump-tables: takes one bridge")
	}
	b, err := c.bridge(args[0])
	if err != nil {
		return control.Result{}, err
	}
	b.DP.SyncFlowStats()
	stats := [lastTable + 1]rules.TableStats{}
	for _, s := range b.DP.Tables().Stats() {
		if s.Table <= lastTable {
			stats[s.Table] = s
		}
	}
	names := namesOf(b, len(given) > 0)
	same := func(i, j int) bool {
		return stats[i].Rules == stats[j].Rules && stats[i].Lookups == stats[j].Lookups && stats[i].Matches == stats[j].Matches &&
			stats[i].Limit == stats[j].Limit && b.Tables[uint8(i)] == b.Tables[uint8(j)]
	}
	var out strings.Builder
	for i := 0; i <= lastTable; {
		end := i + 1
		if i > 0 && same(i-1, i) {
			for end <= lastTable && same(i, end) {
				end++
			}
			if end-i == 1 {
				fmt.Fprintf(&out, "  table %d: ditto\n", i)
			} else {
				fmt.Fprintf(&out, "  tables %d...%d: ditto\n", i, end-1)
			}
			i = end
			continue
		}
		writeTable(&out, i, &stats[i], names)
		i = end
	}
	return control.Result{Text: out.String(), Value: lazy(func() any { return value(b.DP.Tables().Stats()) })}, nil
}

func writeTable(out *strings.Builder, number int, s *rules.TableStats, names ofp.Names) {
	fmt.Fprintf(out, "  table %d", number)
	if name := names.TableName(uint8(number)); name != "" {
		fmt.Fprintf(out, " (%q)", name)
	}
	fmt.Fprintf(out, ":\n    active=%d, lookup=%d, matched=%d\n", s.Rules, s.Lookups, s.Matches)
	if number == 0 || s.Limit != 0 {
		limit := s.Limit
		if limit == 0 {
			limit = 1_000_000
		}
		fmt.Fprintf(out, "    max_entries=%d\n", limit)
	}
	if number == 0 {
		out.WriteString("    matching:\n      exact match or wildcard: in_port eth_{src,dst,type} vlan_{vid,pcp} ip_{src,dst} nw_{proto,tos} tcp_{src,dst}\n\n")
	} else {
		out.WriteString("    (same features)\n\n")
	}
}
