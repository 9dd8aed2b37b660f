package daemon

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/odp"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
	"github.com/gvswitch/gvswitch/pipeline/xlate"
)

func (c *commands) traceCommands() []entry {
	return []entry{
		{"ofproto/trace", "BRIDGE FLOW [OPTIONS...] [-generate | PACKET]", 2, control.Unlimited, c.trace},
	}
}

// traceCall is what ofproto/trace is asked.
type traceCall struct {
	bridge   *reconcile.BridgeEntry
	text     string // the flow
	key      flow.Key
	length   uint32
	frame    []byte // nil: the flow alone
	generate bool
	names    bool
}

// trace tells what the tables do with a packet, step by step. Nothing is sent, counted or learned, unless -generate asks for it: then the packet
// goes its way, too.
func (c *commands) trace(args []string) (control.Result, error) {
	call, err := c.readTrace(args)
	if err != nil {
		return control.Result{}, err
	}
	b := call.bridge
	names := namesOf(b, call.names)
	tr := &xlate.Trace{Names: names, DPNames: c.datapathNames(call.names)}
	var res datapath.TraceResult
	if call.frame != nil {
		res = b.DP.TraceFrame(call.key.InPort(), call.frame, tr)
	} else {
		res = b.DP.Trace(call.key, call.length, tr)
	}
	if call.generate {
		if err := c.generate(call); err != nil {
			return control.Result{}, err
		}
	}
	text := tr.String()
	return control.Result{Text: text, Value: map[string]any{
		"trace":            text,
		"final_flow":       flow.Format(&res.Final),
		"megaflow":         string(maskedText(&call.key, &res.Mask, names)),
		"datapath_actions": string(odp.AppendActions(nil, res.Actions, &call.key, tr.DPNames)),
		"drop_reason":      reasonText(res.Why),
	}}, nil
}

func reasonText(r packet.DropReason) string {
	if r == packet.DropNone {
		return ""
	}
	return r.String()
}

func maskedText(k, mask *flow.Key, names ofp.Names) []byte {
	m := flow.Match{Mask: *mask}
	for i := range k {
		m.Key[i] = k[i] & mask[i]
	}
	return m.Append(nil, names)
}

// readTrace reads the arguments: a bridge and a flow, in one word or two, options, and perhaps a packet.
func (c *commands) readTrace(args []string) (*traceCall, error) {
	call := &traceCall{length: 64}
	var operands []string
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-generate" || a == "--generate":
			call.generate = true
		case a == "--names" || a == "-names":
			call.names = true
		case a == "--no-names":
		case a == "-consistent" || a == "--consistent": // it always is: a trace looks at one version of the tables
		case strings.HasPrefix(a, "--ct-next"):
			return nil, fmt.Errorf("ofproto/trace: %s: there is no connection tracking in this version", a)
		case strings.HasPrefix(a, "-"):
			return nil, fmt.Errorf("ofproto/trace: unknown option %q", a)
		default:
			operands = append(operands, a)
		}
	}
	if len(operands) < 2 || len(operands) > 3 {
		return nil, fmt.Errorf("ofproto/trace: takes a bridge, a flow, and perhaps a packet in hexadecimal")
	}
	b, err := c.bridge(operands[0])
	if err != nil {
		return nil, err
	}
	call.bridge, call.text = b, operands[1]
	var m flow.Match
	if err := m.Parse(operands[1], namesOf(b, true)); err != nil {
		return nil, fmt.Errorf("flow %q: %w", operands[1], err)
	}
	call.key = m.Key
	if len(operands) == 3 {
		if call.generate {
			return nil, fmt.Errorf("ofproto/trace: -generate makes a packet, and one is given")
		}
		frame, err := hex.DecodeString(strings.Join(strings.Fields(operands[2]), ""))
		if err != nil || len(frame) < 14 {
			return nil, fmt.Errorf("packet %q: not the hexadecimal digits of an Ethernet frame", operands[2])
		}
		call.frame = frame
	}
	return call, nil
}

// generate sends a packet of the flow through the tables.
func (c *commands) generate(call *traceCall) error {
	items := slices.DeleteFunc(strings.Split(call.text, ","), func(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), "in_port=") })
	frame, err := flow.Compose(strings.Join(items, ","))
	if err != nil {
		return fmt.Errorf("-generate: %w", err)
	}
	table := ofp.Resubmit{Port: ofp.PortInPort}
	return call.bridge.DP.PacketOut(flow.Pad(frame), call.key.InPort(), []ofp.Action{table})
}

// packetOut sends a packet through actions: "in_port=PORT,packet=HEX,actions=ACTIONS".
func (c *commands) packetOut(args []string) (control.Result, error) {
	b, err := c.bridge(args[0])
	if err != nil {
		return control.Result{}, err
	}
	names := namesOf(b, true)
	head, actionText, found := strings.Cut(args[1], "actions=")
	var actions []ofp.Action
	if found {
		if actions, err = ofp.ParseActions(actionText, names); err != nil {
			return control.Result{}, err
		}
	}
	if why := refusedAction(actions); why != "" {
		return control.Result{}, fmt.Errorf("%s", why)
	}
	var frame []byte
	in := ofp.PortNone
	seen := []string{}
	for item := range strings.FieldsFuncSeq(head, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' }) {
		key, v, _ := strings.Cut(item, "=")
		seen = append(seen, key)
		switch key {
		case "in_port":
			var ok bool
			if in, ok = flow.ParsePort(v, names); !ok {
				return control.Result{}, fmt.Errorf("%s: invalid or unknown port for in_port", v)
			}
		case "packet":
			if frame, err = hex.DecodeString(v); err != nil {
				return control.Result{}, fmt.Errorf("packet: %w", err)
			}
		default:
			return control.Result{}, fmt.Errorf("packet-out: %s: only in_port, packet and actions can be given in this version", key)
		}
	}
	switch {
	case !slices.Contains(seen, "in_port"):
		return control.Result{}, fmt.Errorf("packet-out: in_port is missing")
	case !slices.Contains(seen, "packet"):
		return control.Result{}, fmt.Errorf("packet-out: packet is missing")
	case len(frame) < 14:
		return control.Result{}, fmt.Errorf("packet: Packet data too short for Ethernet")
	}
	return control.Result{}, b.DP.PacketOut(frame, in, actions)
}

// dpNames are the names of the datapath's ports; their numbers are those of dpctl/show.
type dpNames map[uint32]string

// PortName implements odp.Names.
func (n dpNames) PortName(id uint32) string { return n[id] }

// datapathNames are empty unless they are to be shown.
func (c *commands) datapathNames(show bool) dpNames {
	n := dpNames{}
	if !show {
		return n
	}
	for _, b := range c.directory().Bridges {
		for _, p := range b.Ports {
			n[uint32(p.DP.ID())] = p.Name
		}
	}
	return n
}
