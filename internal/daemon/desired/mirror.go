package desired

import (
	"errors"
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/flow"
)

// Mirror is a Mirror row that has an output. Ports are names of interfaces.
type Mirror struct {
	UUID    ovsdb.UUID
	Name    string // no other mirror of the bridge has it
	Wrong   bool   // the rest is: keep what is there
	All     bool
	Src     []string
	Dst     []string
	VLANs   []int // none: all
	Filter  flow.Match
	OutPort string
	OutVLAN int // if OutPort is empty
	SnapLen int // 0: all of a packet
}

// mirrors reads the mirrors of a bridge, whose ports have been read. A Mirror row has no column for messages: they are the bridge's.
func (r *reader) mirrors(bridge Row, b *Bridge) {
	ifaces := map[ovsdb.UUID][]string{}
	for _, p := range b.Ports {
		if p.Iface != nil {
			ifaces[p.UUID] = append(ifaces[p.UUID], p.Iface.Name)
		}
	}
	for _, id := range bridge.Get("mirrors").UUIDs() {
		row := r.rows.Row("Mirror", id)
		if row == nil {
			continue
		}
		name := row.Get("name").Str()
		if m, why := r.mirror(row, ifaces, &b.Report); why == "" {
			b.Mirrors = append(b.Mirrors, m)
		} else {
			b.Report.fail("mirrors: mirror %s: %s", name, why)
		}
	}
	slices.SortStableFunc(b.Mirrors, func(a, c *Mirror) int { return strings.Compare(a.Name, c.Name) })
	for i, m := range b.Mirrors {
		if i > 0 && m.Name == b.Mirrors[i-1].Name {
			m.Name += "-" + m.UUID.String() // names need not be unique in the database
		}
	}
}

// mirror reads a Mirror row; why is not empty if it cannot be made.
func (r *reader) mirror(row Row, ifaces map[ovsdb.UUID][]string, report *Report) (m *Mirror, why string) {
	m = &Mirror{UUID: row.UUID(), Name: row.Get("name").Str()}
	m.All, _ = row.Get("select_all").Bool()
	snap, _ := row.Get("snaplen").Int()
	m.SnapLen = int(snap)
	for _, v := range row.Get("select_vlan").Ints() {
		m.VLANs = append(m.VLANs, int(v))
	}
	for column, to := range map[string]*[]string{"select_src_port": &m.Src, "select_dst_port": &m.Dst} {
		for _, id := range row.Get(column).UUIDs() {
			if ifaces[id] == nil {
				report.warn("mirrors: mirror %s: %s: a port that is not of this bridge", m.Name, column)
			}
			*to = append(*to, ifaces[id]...)
		}
		slices.Sort(*to)
	}
	if text := row.Get("filter").Str(); text != "" {
		err := m.Filter.Parse(text, nil)
		if err == nil && m.Filter.Mask.InPort() != 0 {
			err = errors.New("in_port: not in a filter, select_src_port selects ports")
		}
		if err != nil {
			report.fail("mirrors: mirror %s: filter=%s: %v", m.Name, text, err)
			m.Wrong, m.Filter = true, flow.Match{}
		}
	}
	port, hasPort := row.Get("output_port").UUID()
	vlan, hasVLAN := row.Get("output_vlan").Int()
	switch {
	case hasPort && ifaces[port] == nil:
		return nil, "output_port: a port that is not of this bridge"
	case hasPort:
		m.OutPort = ifaces[port][0]
		if hasVLAN {
			report.warn("mirrors: mirror %s: output_vlan=%d has no effect beside output_port", m.Name, vlan)
		}
	case hasVLAN && vlan > maxVID:
		return nil, "output_vlan=4095: VLANs are 1 to 4094, 4095 is reserved"
	case hasVLAN:
		m.OutVLAN = int(vlan)
	default:
		return nil, "neither output_port nor output_vlan is set"
	}
	return m, ""
}
