package daemon

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
)

// The commands behind "gvsctl explain": one connection follows packets of one bridge, until it ends.

// explainWait is how long "explain/next" waits for a packet before it says that there was none.
const explainWait = time.Second

// explains are the connections that follow packets.
type explains struct {
	mu   sync.Mutex
	open map[context.Context]*following
}

// following is one of them.
type following struct {
	explanation *datapath.Explanation
	names       *flowNames
	dpNames     dpNames
	passed      uint64 // packets that were not explained, as far as that has been told
}

func (c *commands) registerExplain(s *control.Server) {
	e := &explains{open: map[context.Context]*following{}}
	s.Register("explain/start", "[--names] BRIDGE [FLOW]", 1, 3, func(ctx context.Context, args []string) (string, error) {
		return "", c.explainStart(ctx, e, args)
	})
	s.RegisterResult("explain/next", "", 0, 0, func(ctx context.Context, _ []string) (control.Result, error) {
		return e.next(ctx)
	})
}

func (c *commands) explainStart(ctx context.Context, e *explains, args []string) error {
	given, args, err := splitOptions("explain/start", args, "--names")
	if err != nil {
		return err
	}
	if len(args) < 1 || len(args) > 2 {
		return fmt.Errorf("explain: takes a bridge and perhaps a flow")
	}
	b, err := c.bridge(args[0])
	if err != nil {
		return err
	}
	f := &following{names: namesOf(b, len(given) > 0), dpNames: c.datapathNames(len(given) > 0)}
	config := datapath.ExplainConfig{Bridge: b.DP, Names: f.names, DPNames: f.dpNames}
	if len(args) == 2 {
		config.Selector = &flow.Match{}
		if err := config.Selector.Parse(args[1], f.names); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open[ctx] != nil {
		return fmt.Errorf("explain: this connection follows packets already")
	}
	if f.explanation, err = c.dp.Explain(config); err != nil {
		return err
	}
	e.open[ctx] = f
	context.AfterFunc(ctx, func() {
		f.explanation.Close()
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.open, ctx)
	})
	return nil
}

// explained is a packet for programs.
type explained struct {
	Time     time.Time        `json:"time"`
	Core     int              `json:"core"` // -1: not pinned
	InPort   string           `json:"in_port"`
	Length   uint32           `json:"length"`
	Flow     string           `json:"flow"`
	Way      string           `json:"way"`
	Probes   int              `json:"probes"`
	Megaflow string           `json:"megaflow"` // "" if none was used
	Packets  uint64           `json:"megaflow_packets"`
	Actions  string           `json:"datapath_actions"`
	Trace    string           `json:"trace"`
	Effects  []explainedEvent `json:"effects"`
	Passed   uint64           `json:"passed"` // packets that were chosen since the last one, and were too many to be explained
	Text     string           `json:"text"`   // all of it for people
}

type explainedEvent struct {
	Port  string `json:"port"`
	Event string `json:"event"` // "sent" or "dropped"
	Why   string `json:"reason,omitempty"`
	Count uint64 `json:"count"`
}

// next waits for a packet and returns it with those that came at the same time.
func (e *explains) next(ctx context.Context) (control.Result, error) {
	e.mu.Lock()
	f := e.open[ctx]
	e.mu.Unlock()
	if f == nil {
		return control.Result{}, fmt.Errorf("explain/next: explain/start comes first")
	}
	values := []explained{}
	var out strings.Builder
	add := func(x *datapath.Explained) {
		v := f.value(x)
		passed := f.explanation.Passed()
		v.Passed, f.passed = passed-f.passed, passed
		v.Text = v.text()
		values = append(values, v)
		out.WriteString(v.Text)
	}
	select {
	case x := <-f.explanation.Next:
		add(x)
	case <-time.After(explainWait):
		if f.explanation.BridgeGone() {
			return control.Result{}, fmt.Errorf("the bridge has been removed")
		}
	case <-ctx.Done():
		return control.Result{}, ctx.Err()
	}
	for {
		select {
		case x := <-f.explanation.Next:
			add(x)
			continue
		default:
		}
		return control.Result{Text: out.String(), Value: values}, nil
	}
}

func (f *following) value(x *datapath.Explained) explained {
	v := explained{
		Time: x.Time, Core: x.Thread, InPort: portName(x.InPort), Length: x.Len, Flow: flow.Format(&x.Key), Way: x.Way.String(), Probes: x.Probes,
		Packets: x.Packets, Effects: []explainedEvent{},
	}
	if x.Flow != nil {
		v.Megaflow = string(odp.AppendMegaflow(nil, x.Flow, f.dpNames))
	}
	if x.Actions != nil {
		v.Actions = string(odp.AppendActions(nil, x.Actions, &x.Key, f.dpNames))
	}
	if x.Trace != nil {
		v.Trace = x.Trace.Steps()
	}
	for _, effect := range x.Effects {
		event := explainedEvent{Port: portName(effect.Port), Event: "sent", Count: effect.Count}
		if effect.Drop != packet.DropNone {
			event.Event, event.Why = "dropped", effect.Drop.String()
		}
		v.Effects = append(v.Effects, event)
	}
	return v
}

func portName(p *datapath.Port) string {
	if p == nil {
		return "(a port that is gone)"
	}
	return p.Name()
}

// text is the packet for people.
func (v *explained) text() string {
	out := &strings.Builder{}
	if v.Passed > 0 {
		fmt.Fprintf(out, "(packets too many to be explained: %d)\n\n", v.Passed)
	}
	core := "not pinned"
	if v.Core >= 0 {
		core = fmt.Sprintf("core %d", v.Core)
	}
	fmt.Fprintf(out, "%s from %s, %d bytes, thread %s\n", v.Time.Format("15:04:05.000000"), v.InPort, v.Length, core)
	fmt.Fprintf(out, "Flow: %s\nFound by: %s", v.Flow, v.Way)
	if v.Probes > 0 {
		fmt.Fprintf(out, ", subtables asked: %d", v.Probes)
	}
	out.WriteByte('\n')
	if v.Megaflow != "" {
		fmt.Fprintf(out, "Megaflow: %s, %d packets before\n", v.Megaflow, v.Packets)
	}
	if v.Trace != "" {
		fmt.Fprintf(out, "\n%s\n", strings.TrimRight(v.Trace, "\n"))
		out.WriteByte('\n')
	}
	if v.Actions != "" {
		fmt.Fprintf(out, "Datapath actions: %s\n", v.Actions)
	}
	for _, e := range v.Effects {
		fmt.Fprintf(out, "%s: %s", e.Port, e.Event)
		if e.Why != "" {
			fmt.Fprintf(out, ", %s", e.Why)
		}
		if e.Count != 1 {
			fmt.Fprintf(out, " (%d times)", e.Count)
		}
		out.WriteByte('\n')
	}
	out.WriteByte('\n')
	return out.String()
}
