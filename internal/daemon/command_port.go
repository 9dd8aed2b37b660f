package daemon

import (
	"fmt"
	"strings"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/flow"
	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
	"github.com/gvswitch/gvswitch/internal/daemon/status"
	"github.com/gvswitch/gvswitch/packet"
	"github.com/gvswitch/gvswitch/pipeline/ofp"
)

func (c *commands) portCommands() []entry {
	return []entry{
		{"dump-ports", "[--names] [BRIDGE [PORT]]", 0, 3, c.dumpPorts},
		{"ofproto/list", "", 0, 0, c.ofprotoList},
	}
}

// portCounters is a port's counters for programs.
type portCounters struct {
	Bridge    string            `json:"bridge"`
	Port      string            `json:"port"`
	OFPort    uint16            `json:"ofport"`
	RxPackets uint64            `json:"rx_packets"`
	RxBytes   uint64            `json:"rx_bytes"`
	TxPackets uint64            `json:"tx_packets"`
	TxBytes   uint64            `json:"tx_bytes"`
	TxRetries uint64            `json:"tx_retries"`
	RxDrops   map[string]uint64 `json:"rx_drops"` // by reason, those that happened
	TxDrops   map[string]uint64 `json:"tx_drops"`
	Queues    any               `json:"queues"`
}

func (c *commands) dumpPorts(args []string) (control.Result, error) {
	names := len(args) > 0 && args[0] == "--names"
	if names {
		args = args[1:]
	}
	bridges, err := c.some(args[:min(len(args), 1)])
	if err != nil {
		return control.Result{}, err
	}
	var out strings.Builder
	values := []portCounters{}
	for _, b := range bridges {
		ports := b.Ports
		if len(args) == 2 {
			p, err := portOf(b, args[1])
			if err != nil {
				return control.Result{}, err
			}
			ports = []*reconcile.PortEntry{p}
		}
		if len(args) == 0 {
			fmt.Fprintf(&out, "%s: ", b.Name)
		}
		fmt.Fprintf(&out, "OFPST_PORT reply (xid=0x2): %d ports\n", len(ports))
		for _, p := range ports {
			s := p.DP.Stats()
			writePort(&out, p, &s, namesOf(b, names))
			values = append(values, portCounters{
				b.Name, p.Name, p.OFPort, s.RxPackets, s.RxBytes, s.TxPackets, s.TxBytes, s.TxRetries, dropMap(&s.RxDrops), dropMap(&s.TxDrops), value(s.Queues),
			})
		}
	}
	return control.Result{Text: out.String(), Value: values}, nil
}

// writePort writes a port's counters as ovs-ofctl does, and then the losses by reason.
func writePort(out *strings.Builder, p *reconcile.PortEntry, s *datapath.PortStats, names ofp.Names) {
	blank := ""
	if p.OFPort < 10 {
		blank = " "
	}
	name := blank + string(flow.AppendPort(nil, uint32(p.OFPort), names))
	rxErrors, txErrors := status.Errors(s)
	fmt.Fprintf(out, "  port %s: rx pkts=%d, bytes=%d, drop=%d, errs=%d, frame=0, over=%d, crc=0\n",
		name, s.RxPackets, s.RxBytes, s.RxDrops.Total()-rxErrors, rxErrors, s.RxDrops[packet.RxTooLong])
	fmt.Fprintf(out, "           tx pkts=%d, bytes=%d, drop=%d, errs=%d, coll=0\n",
		s.TxPackets, s.TxBytes, s.TxDrops.Total()-txErrors, txErrors)
	writeDrops(out, "rx", &s.RxDrops)
	writeDrops(out, "tx", &s.TxDrops)
}

func writeDrops(out *strings.Builder, direction string, drops *datapath.Drops) {
	if drops.Total() == 0 {
		return
	}
	fmt.Fprintf(out, "           %s drops by reason:", direction)
	for r, n := range drops {
		if n != 0 {
			fmt.Fprintf(out, " %s=%d", packet.DropReason(r), n)
		}
	}
	out.WriteString("\n")
}

func dropMap(drops *datapath.Drops) map[string]uint64 {
	m := map[string]uint64{}
	for r, n := range drops {
		if n != 0 {
			m[packet.DropReason(r).String()] = n
		}
	}
	return m
}

func (c *commands) ofprotoList([]string) (control.Result, error) {
	var out strings.Builder
	names := []string{}
	for _, b := range c.directory().Bridges {
		names = append(names, b.Name)
		out.WriteString(b.Name + "\n")
	}
	return control.Result{Text: out.String(), Value: names}, nil
}
