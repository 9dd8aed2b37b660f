package vsctl

import "github.com/gvswitch/gvswitch/config/ovsdb"

// resetColumns are what emer-reset makes empty, or zero, in each row of a table.
var resetColumns = map[string][]string{
	"Open_vSwitch": {"manager_options", "ssl"},
	"Bridge":       {"controller", "fail_mode", "mirrors", "netflow", "sflow", "ipfix", "flood_vlans", "other_config"},
	"Port":         {"other_config"},
	"Interface":    {"ingress_policing_rate", "ingress_policing_burst"},
}

// resetTables are those whose rows emer-reset deletes.
var resetTables = []string{"Mirror", "Controller", "Manager", "NetFlow", "SSL", "sFlow", "IPFIX", "Flow_Sample_Collector_Set"}

func prepareReset(p *plan, _ *Command) error {
	for table, columns := range resetColumns {
		p.need(table, columns...)
	}
	for _, table := range resetTables {
		p.need(table)
	}
	return nil
}

func runReset(r *run, _ *Command) error {
	for table, columns := range resetColumns {
		for _, x := range r.rows(r.schema.Tables[table]) {
			for _, name := range columns {
				c := x.table.Column(name)
				if c == nil {
					continue
				}
				d := c.Type.Default()
				if hwaddr, ok := r.get(x, c).MapValue("hwaddr"); ok && table == "Bridge" && name == "other_config" {
					d = ovsdb.StringMap(map[string]string{"hwaddr": hwaddr}) // the bridge keeps its address
				}
				r.set(x, c, d)
			}
		}
	}
	for _, table := range resetTables {
		if t := r.schema.Tables[table]; t != nil {
			for _, x := range r.rows(t) {
				r.remove(x)
			}
		}
	}
	r.invalidate()
	return nil
}
