package desired

import (
	"fmt"
	"slices"
	"strings"
)

// maxVID is the highest VLAN that may be used; 4095 is reserved (IEEE 802.1Q-2022 table 9-2).
const maxVID = 4094

// port reads a Port row and its Interface, or Interfaces: then there is a port for each.
func (r *reader) port(row Row, b *Bridge) []*Port {
	p := &Port{UUID: row.UUID(), Name: row.Get("name").Str()}
	p.Local = p.Name == b.Name
	p.Config = readVLANs(row, &p.Report)
	bonded := len(row.Get("interfaces").UUIDs()) > 1 && !p.Local
	bond := p.readOther(row, bonded)
	unsupported(row, portColumns, &p.Report)
	if !bonded {
		unsupported(row, bondColumns, &p.Report)
	}

	var ifaces []*Interface
	for _, id := range row.Get("interfaces").UUIDs() {
		irow := r.rows.Row("Interface", id)
		if irow == nil {
			continue
		}
		if other, twice := r.ifaces[id]; twice {
			p.Report.fail("interfaces: interface %s is in port %s already", irow.Get("name").Str(), other)
			continue
		}
		r.ifaces[id] = p.Name
		ifaces = append(ifaces, r.iface(irow, p.Local))
	}
	slices.SortFunc(ifaces, func(a, c *Interface) int { return strings.Compare(a.Name, c.Name) })
	if bonded && len(ifaces) > 0 && b.Refused == "" {
		return r.bond(p, b, bond, ifaces)
	}
	r.assign(p, b, ifaces)
	return []*Port{p}
}

// readOther reads other_config, and all settings of a bond if it is one.
func (p *Port) readOther(row Row, bonded bool) (bond *BondConfig) {
	o := options{m: row.Get("other_config").StringMap(), column: "other_config", report: &p.Report}
	qinq := map[string]uint16{"802.1ad": 0x88a8, "802.1q": 0x8100}[o.choice("qinq-ethtype", "802.1ad", "802.1ad", "802.1q")]
	priority := "never"
	switch v, _ := o.take("priority-tags"); v {
	case "always", "true": // true and false are the older words
		priority = "always"
	case "if-nonzero", "never":
		priority = v
	case "", "false":
	default:
		o.fail("priority-tags", v, "not one of never, if-nonzero, always")
	}
	bad := o.bad
	if bonded {
		bond = readBond(row, &o, &p.Report)
	}
	o.leftover()
	switch {
	case bad:
		p.Config = nil
	case p.Config != nil:
		p.Config.Priority = priority
		if p.Config.VLANMode == "dot1q-tunnel" {
			p.Config.QinQType = qinq
		}
	}
	return bond
}

// assign gives the port its interface, or refuses those that it names.
func (r *reader) assign(p *Port, b *Bridge, ifaces []*Interface) {
	refused := ""
	switch {
	case b.Refused != "":
		refused = fmt.Sprintf("bridge %s: %s", b.Name, b.Refused)
	case len(ifaces) == 0 && p.Local:
		ifaces = []*Interface{impliedLocal(b).Iface}
	case len(ifaces) == 0:
		p.Report.fail("interfaces: no interface that this port could use")
	}
	if refused != "" {
		for _, i := range ifaces {
			i.Refused = refused
		}
		p.Refused = ifaces
		return
	}
	if len(ifaces) > 0 {
		p.Iface, p.Refused = ifaces[0], ifaces[1:]
		for _, i := range p.Refused {
			i.Refused = fmt.Sprintf("port %s: interfaces: a bridge's own port has one interface", p.Name)
		}
		for _, e := range p.Report.Errors { // a Port row has no error column
			p.Iface.Report.fail("port %s: %s", p.Name, e)
		}
	}
}

// readVLANs reads tag, trunks and vlan_mode. It returns nil when one is wrong.
func readVLANs(row Row, report *Report) *PortConfig {
	c := &PortConfig{Tag: -1}
	bad := func(format string, args ...any) *PortConfig { report.fail(format, args...); return nil }
	if tag, ok := row.Get("tag").Int(); ok {
		if tag > maxVID {
			return bad("tag=%d: VLANs are 0 to %d, 4095 is reserved", tag, maxVID)
		}
		c.Tag = int(tag)
	}
	for _, v := range row.Get("trunks").Ints() {
		if v > maxVID {
			return bad("trunks=%d: VLANs are 0 to %d, 4095 is reserved", v, maxVID)
		}
		c.Trunks = append(c.Trunks, int(v))
	}
	c.Protected, _ = row.Get("protected").Bool()
	c.VLANMode = row.Get("vlan_mode").Str()
	switch c.VLANMode {
	case "":
		c.VLANMode = "trunk"
		if c.Tag >= 0 {
			c.VLANMode = "access"
		}
	case "access", "trunk", "native-tagged", "native-untagged", "dot1q-tunnel":
	default:
		return bad("vlan_mode=%s: not one of access, trunk, native-tagged, native-untagged, dot1q-tunnel", c.VLANMode)
	}
	for _, v := range row.Get("cvlans").Ints() {
		if v > maxVID {
			return bad("cvlans=%d: VLANs are 0 to %d, 4095 is reserved", v, maxVID)
		}
		c.CVLANs = append(c.CVLANs, int(v))
	}
	c.settle(report)
	return c
}

// settle makes tag and trunks agree with the mode, as ovs-vswitchd.conf.db(5) explains the columns.
func (c *PortConfig) settle(report *Report) {
	if len(c.CVLANs) > 0 && c.VLANMode != "dot1q-tunnel" {
		report.warn("cvlans has no effect with vlan_mode %s", c.VLANMode)
		c.CVLANs = nil
	}
	if c.VLANMode == "trunk" {
		if c.Tag >= 0 {
			report.warn("tag=%d has no effect with vlan_mode trunk", c.Tag)
		}
		c.Tag = -1
		return
	}
	c.Tag = max(c.Tag, 0)
	if c.VLANMode == "access" || c.VLANMode == "dot1q-tunnel" {
		if len(c.Trunks) > 0 {
			report.warn("trunks has no effect with vlan_mode %s", c.VLANMode)
		}
		c.Trunks = nil
		return
	}
	if len(c.Trunks) > 0 && !slices.Contains(c.Trunks, c.Tag) {
		c.Trunks = append(c.Trunks, c.Tag)
		slices.Sort(c.Trunks)
	}
}
