package status

import (
	"slices"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
	"github.com/gvswitch/gvswitch/internal/daemon/reconcile"
	"github.com/gvswitch/gvswitch/internal/lacp"
)

// Updates returns what has to be written so that the rows say what has become of the configuration. System is what does not change.
func Updates(rows desired.Rows, res *reconcile.Results, system Columns) []Update {
	var out []Update
	add := func(table string, id ovsdb.UUID, want Columns) {
		if c := Changed(rows, table, id, want); c != nil {
			out = append(out, Update{table, id, c})
		}
	}
	for i := range res.Interfaces {
		add("Interface", res.Interfaces[i].UUID, interfaceColumns(&res.Interfaces[i]))
	}
	for _, p := range res.Ports {
		add("Port", p.UUID, Columns{"status": reportMap(p.Report, nil), "bond_active_slave": optionalStr(p.ActiveMember)})
	}
	for _, b := range res.Bridges {
		add("Bridge", b.UUID, Columns{"status": reportMap(b.Report, nil), "datapath_id": optionalStr(b.DatapathID), "datapath_version": ovsdb.Scalar(ovsdb.Str("<built-in>"))})
	}
	root := Columns{
		"cur_cfg":    ovsdb.Scalar(ovsdb.Int(res.NextCfg)),
		"statistics": reportMap(res.Report, nil), // the one column that a message fits in
	}
	for name, v := range system {
		root[name] = v
	}
	add("Open_vSwitch", res.Root, root)
	return out
}

// reportMap adds messages to a map column under the keys "error" and "warning".
func reportMap(r desired.Report, m map[string]string) ovsdb.Datum {
	out := make(map[string]string, len(m)+2)
	for k, v := range m {
		out[k] = v
	}
	if len(r.Errors) > 0 {
		out["error"] = strings.Join(r.Errors, "; ")
	}
	if len(r.Warnings) > 0 {
		out["warning"] = strings.Join(r.Warnings, "; ")
	}
	return ovsdb.StringMap(out)
}

// interfaceColumns is all of an Interface row that the switch owns, except statistics.
func interfaceColumns(i *reconcile.InterfaceResult) Columns {
	info := &i.Info
	c := Columns{
		"ofport":      ovsdb.Scalar(ovsdb.Int(int64(i.OFPort))),
		"error":       optionalStr(i.Error),
		"mac_in_use":  optional(info.MAC != nil, ovsdb.Str(info.MAC.String())),
		"mtu":         optional(info.MTU != 0, ovsdb.Int(int64(info.MTU))),
		"ifindex":     optional(i.Running, ovsdb.Int(int64(info.IfIndex))),
		"link_speed":  optional(info.Speed != 0, ovsdb.Int(int64(info.Speed))),
		"duplex":      optionalStr(info.Duplex),
		"link_resets": optional(i.Running, ovsdb.Int(i.Resets)),
		"link_state":  optional(i.Running, ovsdb.Str(upDown(info.Link))),
		"admin_state": optional(i.Running, ovsdb.Str("up")),

		"lacp_current": optional(i.LACP != nil, ovsdb.Bool(i.LACP != nil && *i.LACP == lacp.StatusCurrent)),
	}
	status := map[string]string{}
	for k, v := range info.Status {
		status[k] = v
	}
	if info.Driver != "" {
		status["driver_name"] = info.Driver
	}
	if v, ok := status["admin_state"]; ok { // the device knows better
		c["admin_state"] = ovsdb.Scalar(ovsdb.Str(upDown(v == "up")))
		delete(status, "admin_state")
	}
	c["status"] = reportMap(desired.Report{Warnings: i.Warnings}, status)
	return c
}

func upDown(up bool) string {
	if up {
		return "up"
	}
	return "down"
}

// System is the columns of the Open_vSwitch row that say what this switch is.
func System(version string) Columns {
	types := desired.InterfaceTypes()
	slices.Sort(types)
	name, release := systemRelease()
	return Columns{
		"ovs_version":      optionalStr(version),
		"datapath_types":   ovsdb.StringSet(desired.DatapathTypes()...),
		"iface_types":      ovsdb.StringSet(types...),
		"dpdk_initialized": ovsdb.Scalar(ovsdb.Bool(false)),
		"dpdk_version":     ovsdb.Datum{},
		"system_type":      optionalStr(name),
		"system_version":   optionalStr(release),
	}
}
