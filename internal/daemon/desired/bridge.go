package desired

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// Ranges and defaults are those of ovs-vswitchd.conf.db(5).
const (
	defaultMACTable = 8192
	minMACTable     = 10
	maxMACTable     = 1_000_000

	defaultMACAging = 300
	minMACAging     = 15
	maxMACAging     = 3600
)

// bridge reads a Bridge row without its ports.
func (r *reader) bridge(row Row) *Bridge {
	b := &Bridge{UUID: row.UUID(), Name: row.Get("name").Str()}
	if why := checkKernelName(b.Name); why != "" {
		b.Refused = why
	}
	if t := row.Get("datapath_type").Str(); t != "" && !slices.Contains(DatapathTypes(), t) {
		b.Refused = "datapath_type=" + t + ": not one of " + strings.Join(DatapathTypes(), ", ")
	}
	o := options{m: row.Get("other_config").StringMap(), column: "other_config", report: &b.Report}
	c := &BridgeConfig{
		MACTableSize: o.forced("mac-table-size", defaultMACTable, minMACTable, maxMACTable),
		MACAging:     time.Duration(o.forced("mac-aging-time", defaultMACAging, minMACAging, maxMACAging)) * time.Second,
		ForwardBPDU:  o.boolean("forward-bpdu", false),
	}
	if v, ok := o.take("hwaddr"); ok && v != "random" {
		mac, err := parseUnicastMAC(v)
		if err != "" {
			o.fail("hwaddr", v, "%s", err)
		}
		c.MAC = mac
	}
	if v, ok := o.take("datapath-id"); ok {
		if id, ok := parseDatapathID(v); ok {
			b.DatapathID = id
		} else {
			o.fail("datapath-id", v, "not 16 hexadecimal digits, or zero")
		}
	}
	b.Secure = row.Get("fail_mode").Str() == "secure"
	c.Secure = b.Secure
	if v, ok := o.take("flow-file"); ok && v != "" {
		if filepath.IsAbs(v) {
			c.FlowFile = filepath.Clean(v)
		} else {
			o.fail("flow-file", v, "not an absolute path")
		}
	}
	c.Tables = r.flowTables(row, &b.Report)
	for _, v := range row.Get("flood_vlans").Ints() {
		c.FloodVLANs = append(c.FloodVLANs, int(v))
	}
	// ovn-controller's, and meaningless while there is no controller.
	o.take("disable-in-band")
	o.leftover()
	if !o.bad {
		b.Config = c
	}
	unsupported(row, bridgeColumns, &b.Report)
	return b
}

// bridgePorts reads the ports of a bridge and adds its own if no row asks for it.
func (r *reader) bridgePorts(b *Bridge) {
	row := r.rows.Row("Bridge", b.UUID)
	for _, id := range row.Get("ports").UUIDs() {
		p := r.rows.Row("Port", id)
		if p == nil {
			continue
		}
		if other, twice := r.ports[id]; twice {
			b.Report.fail("ports: port %s is in bridge %s already", p.Get("name").Str(), other)
			continue
		}
		r.ports[id] = b.Name
		b.Ports = append(b.Ports, r.port(p, b)...)
	}
	slices.SortFunc(b.Bonds, func(a, c *Bond) int { return strings.Compare(a.Name, c.Name) })
	slices.SortStableFunc(b.Ports, func(a, c *Port) int { return strings.Compare(a.Name, c.Name) })
	r.mirrors(row, b)
	if b.Refused == "" && !slices.ContainsFunc(b.Ports, func(p *Port) bool { return p.Local }) {
		b.Ports = append(b.Ports, impliedLocal(b))
	}
	for _, p := range b.Ports {
		if p.Local && p.Iface != nil {
			localInterface(p.Iface, b)
		}
	}
}

// impliedLocal is the port that every bridge has even when no row asks for it.
func impliedLocal(b *Bridge) *Port {
	return &Port{
		Name: b.Name, Local: true,
		Config: &PortConfig{VLANMode: "trunk", Tag: -1, Priority: "never"},
		Iface:  &Interface{Name: b.Name, Kind: Internal, Claims: []string{"device " + b.Name}},
	}
}

// localInterface gives a bridge's own device the bridge's address, and shows in its row what is wrong with the bridge, since a Bridge row
// has no error column.
func localInterface(i *Interface, b *Bridge) {
	if b.Config != nil && b.Config.MAC != nil && i.MAC == "" {
		i.MAC = b.Config.MAC.String()
	}
	if i.MAC == "" {
		i.MAC = stableMAC(b.UUID)
	}
	for _, e := range b.Report.Errors {
		i.Report.fail("bridge %s: %s", b.Name, e)
	}
}

// stableMAC makes an address of a row's UUID, so that a device that the switch makes has the same one after each start and its neighbours'
// caches stay right.
func stableMAC(id ovsdb.UUID) string {
	mac := net.HardwareAddr(id[10:16])
	return (net.HardwareAddr{mac[0]&^1 | 2, mac[1], mac[2], mac[3], mac[4], mac[5]}).String()
}

func parseUnicastMAC(s string) (mac net.HardwareAddr, why string) {
	mac, err := net.ParseMAC(s)
	switch {
	case err != nil || len(mac) != 6:
		return nil, "not an Ethernet address"
	case mac[0]&1 != 0:
		return nil, "a multicast address"
	case slices.Equal(mac, make(net.HardwareAddr, 6)):
		return nil, "all zero"
	}
	return mac, ""
}

func parseDatapathID(s string) (string, bool) {
	digits := strings.TrimPrefix(s, "0x")
	if len(digits) == 0 || len(digits) > 16 || len(digits) < 16 && digits == s {
		return "", false
	}
	digits = strings.Repeat("0", 16-len(digits)) + strings.ToLower(digits)
	if strings.Trim(digits, "0123456789abcdef") != "" || strings.Trim(digits, "0") == "" {
		return "", false
	}
	return digits, true
}
