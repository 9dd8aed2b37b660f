package daemon

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/datapath"
	"github.com/gvswitch/gvswitch/internal/control"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
)

func (c *commands) fdbCommands() []entry {
	return []entry{
		{"fdb/show", "BRIDGE", 1, 1, c.fdbShow},
		{"fdb/add", "BRIDGE PORT VLAN MAC", 4, 4, c.fdbAdd},
		{"fdb/del", "BRIDGE VLAN MAC", 3, 3, c.fdbDel},
		{"fdb/flush", "[BRIDGE]", 0, 1, c.fdbFlush},
		{"fdb/stats-show", "[BRIDGE]", 0, 1, c.fdbStats},
	}
}

// fdbEntry is an entry of the MAC table for programs.
type fdbEntry struct {
	Port   string  `json:"port"`
	OFPort uint16  `json:"ofport"`
	VLAN   int     `json:"vlan"`
	MAC    string  `json:"mac"`
	Age    float64 `json:"age"` // seconds
	Static bool    `json:"static"`
}

func (c *commands) fdbShow(args []string) (control.Result, error) {
	b, err := c.bridge(args[0])
	if err != nil {
		return control.Result{}, err
	}
	var out strings.Builder
	out.WriteString(" port  VLAN  MAC                Age\n")
	entries := []fdbEntry{}
	for _, e := range b.DP.MACTable() {
		number := e.Port.OFPort()
		age := "static"
		if !e.Static {
			age = fmt.Sprintf("%3d", int(e.Age.Seconds()))
		}
		fmt.Fprintf(&out, "%5s  %4d  %s  %s\n", portNumber(number), e.VLAN, e.MAC, age)
		entries = append(entries, fdbEntry{e.Port.Name(), number, e.VLAN, e.MAC.String(), e.Age.Seconds(), e.Static})
	}
	return control.Result{Text: out.String(), Value: entries}, nil
}

func parseVLAN(s string) (int, error) {
	v, err := strconv.Atoi(s)
	if err != nil || v < 0 || v > 4095 {
		return 0, fmt.Errorf("VLAN %q is not a number from 0 to 4095", s)
	}
	return v, nil
}

func parseMAC(s string) (net.HardwareAddr, error) {
	mac, err := net.ParseMAC(s)
	if err != nil || len(mac) != 6 {
		return nil, fmt.Errorf("MAC %q is not an Ethernet address", s)
	}
	if mac[0]&1 != 0 {
		return nil, fmt.Errorf("MAC %q is a multicast address", s)
	}
	return mac, nil
}

func (c *commands) fdbAdd(args []string) (control.Result, error) {
	b, err := c.bridge(args[0])
	if err != nil {
		return control.Result{}, err
	}
	p, err := portOf(b, args[1])
	if err != nil {
		return control.Result{}, err
	}
	vlan, err := parseVLAN(args[2])
	if err != nil {
		return control.Result{}, err
	}
	mac, err := parseMAC(args[3])
	if err != nil {
		return control.Result{}, err
	}
	return control.Result{}, b.DP.AddStaticMAC(p.DP, vlan, mac)
}

func (c *commands) fdbDel(args []string) (control.Result, error) {
	b, err := c.bridge(args[0])
	if err != nil {
		return control.Result{}, err
	}
	vlan, err := parseVLAN(args[1])
	if err != nil {
		return control.Result{}, err
	}
	mac, err := parseMAC(args[2])
	if err != nil {
		return control.Result{}, err
	}
	if !b.DP.DelMAC(vlan, mac) {
		return control.Result{}, fmt.Errorf("no such entry: bridge %q has no %v in VLAN %d", b.Name, mac, vlan)
	}
	return control.Result{}, nil
}

// some returns one bridge by name, or all.
func (c *commands) some(args []string) ([]*reconcile.BridgeEntry, error) {
	if len(args) == 0 {
		return c.directory().Bridges, nil
	}
	b, err := c.bridge(args[0])
	return []*reconcile.BridgeEntry{b}, err
}

func (c *commands) fdbFlush(args []string) (control.Result, error) {
	bridges, err := c.some(args)
	if err != nil {
		return control.Result{}, err
	}
	for _, b := range bridges {
		b.DP.FlushMACs()
	}
	return text("table successfully flushed")
}

func (c *commands) fdbStats(args []string) (control.Result, error) {
	bridges, err := c.some(args)
	if err != nil {
		return control.Result{}, err
	}
	var out strings.Builder
	values := map[string]datapath.MACStats{}
	for _, b := range bridges {
		s := b.DP.MACStats()
		values[b.Name] = s
		fmt.Fprintf(&out, "Statistics for bridge %q:\n", b.Name)
		fmt.Fprintf(&out, "  Current/maximum MAC entries in the table: %d/%d\n", s.Current, s.Max)
		for _, line := range []struct {
			what string
			n    uint64
		}{
			{"Current static MAC entries in the table", s.Static},
			{"Total number of learned MAC entries", s.Learned},
			{"Total number of expired MAC entries", s.Expired},
			{"Total number of evicted MAC entries", s.Evicted},
			{"Total number of port moved MAC entries", s.Moved},
			{"Total number of static MAC moves refused", s.StaticMoveDropped},
			{"Total number of MACs not learned", s.NotLearned},
			{"Total number of cache flushes", s.CacheFlushes},
		} {
			fmt.Fprintf(&out, "  %-40s: %d\n", line.what, line.n)
		}
	}
	return control.Result{Text: out.String(), Value: value(values)}, nil
}
