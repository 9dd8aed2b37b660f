package desired

import (
	"net"
	"slices"
	"time"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// Bond is a Port row with more than one Interface. Each of these is a Port of the Bridge by itself, with the row's settings.
type Bond struct {
	UUID    ovsdb.UUID
	Name    string
	Config  *BondConfig // nil: wrong, keep what is there
	Members []BondMember
}

// BondConfig is the settings of a bond.
type BondConfig struct {
	Mode               string // "active-backup", "balance-slb" or "balance-tcp"
	Primary            string // other_config:bond-primary, "" if not set
	UpDelay, DownDelay time.Duration
	HashBasis          uint32
	Rebalance          time.Duration // 0: never
	AllMembers         bool

	LACP           string // "off", "active" or "passive"
	Fast           bool
	SystemID       net.HardwareAddr // nil: the bridge's address
	SystemPriority int              // 0 if not set
	FallbackAB     bool
}

// BondMember is an interface of a bond.
type BondMember struct {
	Name string
	LACP MemberLACP
}

// MemberLACP is an interface's other_config:lacp-port-id, lacp-port-priority and lacp-aggregation-key, each 0 if not set.
type MemberLACP struct{ Port, Priority, Key int }

// Ranges and defaults are those of ovs-vswitchd.conf.db(5), in milliseconds.
const (
	defaultRebalance = 10_000
	leastRebalance   = 1000
)

// bondColumns are those of a Port that have a meaning only if it is a bond.
var bondColumns = []column{
	{name: "bond_mode", note: "the port has one interface"},
	{name: "lacp", idle: isWord("off"), note: "the port has one interface"},
	{name: "bond_updelay", idle: isZero, note: "the port has one interface"},
	{name: "bond_downdelay", idle: isZero, note: "the port has one interface"},
}

// readBond reads the columns of a bond, and the keys that it has in other_config.
func readBond(row Row, o *options, report *Report) *BondConfig {
	c := &BondConfig{Mode: row.Get("bond_mode").Str(), LACP: row.Get("lacp").Str()}
	before := o.bad
	if c.Mode == "" {
		c.Mode = "active-backup"
	}
	if c.LACP == "" {
		c.LACP = "off"
	}
	ok := true
	if !slices.Contains([]string{"active-backup", "balance-slb", "balance-tcp"}, c.Mode) {
		report.fail("bond_mode=%s: not one of active-backup, balance-slb, balance-tcp", c.Mode)
		ok = false
	}
	if !slices.Contains([]string{"off", "active", "passive"}, c.LACP) {
		report.fail("lacp=%s: not one of active, passive, off", c.LACP)
		ok = false
	}
	delay := func(column string) time.Duration {
		n, _ := row.Get(column).Int()
		if n < 0 {
			report.warn("%s=%d: negative; 0 is used", column, n)
		}
		return time.Duration(max(n, 0)) * time.Millisecond
	}
	c.UpDelay, c.DownDelay = delay("bond_updelay"), delay("bond_downdelay")
	c.Primary, _ = o.take("bond-primary")
	c.HashBasis = uint32(o.forced("bond-hash-basis", 0, 0, 1<<32-1))
	interval := o.forced("bond-rebalance-interval", defaultRebalance, 0, 1<<31-1)
	if interval != 0 {
		interval = max(interval, leastRebalance)
	}
	c.Rebalance = time.Duration(interval) * time.Millisecond
	c.AllMembers = o.boolean("all-slaves-active", false)
	c.AllMembers = o.boolean("all-members-active", c.AllMembers)
	c.Fast = o.choice("lacp-time", "slow", "fast", "slow") == "fast"
	c.FallbackAB = o.boolean("lacp-fallback-ab", false)
	c.SystemPriority = o.forced("lacp-system-priority", 0, 1, 0xffff)
	if v, set := o.take("lacp-system-id"); set {
		mac, why := parseUnicastMAC(v)
		if why != "" {
			o.fail("lacp-system-id", v, "%s", why)
		}
		c.SystemID = mac
	}
	if o.choice("bond-detect-mode", "carrier", "carrier", "miimon") == "miimon" {
		report.warn("other_config:bond-detect-mode=miimon: the carrier is used")
	}
	o.take("bond-miimon-interval")
	o.take("lb-output-action") // how the kernel's or another datapath is told; here it makes no difference
	if c.Mode == "balance-tcp" && c.LACP == "off" {
		report.warn("bond_mode=balance-tcp without lacp passes nothing")
	}
	if !ok || o.bad != before {
		return nil
	}
	return c
}

// bond makes the ports and the bond of a Port row.
func (r *reader) bond(p *Port, b *Bridge, c *BondConfig, ifaces []*Interface) []*Port {
	bond := &Bond{UUID: p.UUID, Name: p.Name, Config: c}
	var out []*Port
	for n, i := range ifaces {
		q := *p
		q.Bond = bond
		if n > 0 {
			q.Report = Report{}
		}
		for _, e := range p.Report.Errors { // a Port row has no error column
			i.Report.fail("port %s: %s", p.Name, e)
		}
		q.Iface = i
		out = append(out, &q)
		bond.Members = append(bond.Members, BondMember{i.Name, i.LACP})
	}
	b.Bonds = append(b.Bonds, bond)
	return out
}

// readLACP reads an interface's keys.
func (i *Interface) readLACP(o *options) {
	for _, k := range []struct {
		key string
		to  *int
	}{{"lacp-port-id", &i.LACP.Port}, {"lacp-port-priority", &i.LACP.Priority}, {"lacp-aggregation-key", &i.LACP.Key}} {
		*k.to = o.forced(k.key, 0, 1, 0xffff)
	}
}
