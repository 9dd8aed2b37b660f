package daemon

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
	"github.com/gvswitch/gvswitch/internal/version"
)

// bridgeNames gives a bridge's names to programs, whichever form of reply was asked for.
func (c *commands) bridgeNames(args []string) (control.Result, error) {
	b, err := c.bridge(args[0])
	if err != nil {
		return control.Result{}, err
	}
	n := namesOf(b, false)
	v := struct {
		Ports  map[string]uint32 `json:"ports"`
		Tables map[string]uint8  `json:"tables"`
	}{n.ports, n.tables}
	raw, err := json.Marshal(v)
	return control.Result{Text: string(raw), Value: v}, err
}

func (c *commands) dumpPortsDesc(args []string) (control.Result, error) {
	b, err := c.bridge(args[0])
	if err != nil {
		return control.Result{}, err
	}
	ports := b.Ports
	if name := operand(args, 1); name != "" && !strings.EqualFold(name, "any") {
		p, err := portOf(b, name)
		if err != nil {
			return control.Result{}, err
		}
		ports = []*reconcile.PortEntry{p}
	}
	values := []portDescription{}
	var out strings.Builder
	for _, p := range ports {
		v := describe(p)
		values = append(values, v)
		v.write(&out)
	}
	return control.Result{Text: out.String(), Value: values}, nil
}

// portDescription is a port as OpenFlow describes it, for programs.
type portDescription struct {
	OFPort uint16   `json:"ofport"`
	Name   string   `json:"name"`
	MAC    string   `json:"mac"`
	Config []string `json:"config"`
	State  []string `json:"state"`
	Speed  uint64   `json:"speed"` // bit/s
}

// describe uses the words of OpenFlow 1.0's enums ofp_port_config and ofp_port_state.
func describe(p *reconcile.PortEntry) portDescription {
	info, of := p.DP.Info(), p.DP.OpenFlowConfig()
	v := portDescription{OFPort: p.OFPort, Name: p.Name, MAC: "00:00:00:00:00:00", Config: []string{}, State: []string{}, Speed: info.Speed}
	if len(info.MAC) == 6 {
		v.MAC = info.MAC.String()
	}
	for _, f := range []struct {
		set  bool
		name string
	}{{of.Down, "PORT_DOWN"}, {of.NoRecv, "NO_RECV"}, {of.NoFlood, "NO_FLOOD"}, {of.NoFwd, "NO_FWD"}} {
		if f.set {
			v.Config = append(v.Config, f.name)
		}
	}
	if !info.Link || of.Down {
		v.State = append(v.State, "LINK_DOWN")
	}
	return v
}

func (v *portDescription) write(out *strings.Builder) {
	words := func(list []string) string {
		if len(list) == 0 {
			return "0"
		}
		return strings.Join(list, " ")
	}
	fmt.Fprintf(out, " %s(%s): addr:%s\n     config:     %s\n     state:      %s\n     speed: %d Mbps now, 0 Mbps max\n",
		portNumber(v.OFPort), v.Name, v.MAC, words(v.Config), words(v.State), v.Speed/1_000_000)
}

func (c *commands) showSwitch(args []string) (control.Result, error) {
	b, err := c.bridge(args[0])
	if err != nil {
		return control.Result{}, err
	}
	id := b.DatapathID
	if id == "" {
		id = strings.Repeat("0", 16)
	}
	ports, err := c.dumpPortsDesc(args[:1])
	if err != nil {
		return control.Result{}, err
	}
	head := "OFPT_FEATURES_REPLY (xid=0x2): dpid:" + id + "\nn_tables:254, n_buffers:0\n" +
		"capabilities: FLOW_STATS TABLE_STATS PORT_STATS QUEUE_STATS ARP_MATCH_IP\nactions: " + groupActions + "\n"
	return control.Result{
		Text:  head + ports.Text + "OFPT_GET_CONFIG_REPLY (xid=0x4): frags=normal miss_send_len=0\n",
		Value: map[string]any{"dpid": id, "n_tables": 254, "ports": ports.Value},
	}, nil
}

func (c *commands) dumpDesc(args []string) (control.Result, error) {
	if _, err := c.bridge(args[0]); err != nil {
		return control.Result{}, err
	}
	return text("Manufacturer: gvswitch\nHardware: gvswitch\nSoftware: %s\nSerial Num: None\nDP Description: None\n", version.String())
}

// modPort changes how a port takes part, until the port is removed or the switch ends: it is no part of the configuration.
func (c *commands) modPort(args []string) (control.Result, error) {
	b, err := c.bridge(args[0])
	if err != nil {
		return control.Result{}, err
	}
	p, err := portOf(b, args[1])
	if err != nil {
		return control.Result{}, fmt.Errorf("%s: couldn't find port `%s'", b.Name, args[1])
	}
	of := p.DP.OpenFlowConfig()
	switch args[2] {
	case "up", "down":
		of.Down = args[2] == "down"
	case "flood", "no-flood":
		of.NoFlood = args[2] == "no-flood"
	case "forward", "no-forward":
		of.NoFwd = args[2] == "no-forward"
	case "receive", "no-receive":
		of.NoRecv = args[2] == "no-receive"
	case "packet-in", "no-packet-in": // there is no controller that a packet could go to
		return control.Result{}, nil
	case "stp", "no-stp", "receive-stp", "no-receive-stp":
		return control.Result{}, fmt.Errorf("mod-port: %s: there is no spanning tree protocol in this version", args[2])
	default:
		return control.Result{}, fmt.Errorf("unknown mod-port command '%s'", args[2])
	}
	p.DP.SetOpenFlowConfig(of)
	return control.Result{}, nil
}
