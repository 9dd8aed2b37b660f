package vsctl

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// Commands on conntrack zones of a datapath: timeout policies and limits; and on its capabilities.

func zoneCommands() []*Syntax {
	mayExist, ifExists := Option{Name: "--may-exist"}, Option{Name: "--if-exists"}
	return []*Syntax{
		{
			Name: "add-zone-tp", Args: "DATAPATH zone=ZONE KEY=VALUE...", Brief: "set the timeout policy of a zone",
			minArgs: 3, maxArgs: anyNumber, Options: []Option{mayExist}, prepare: prepareZone, run: runAddZonePolicy,
		},
		{
			Name: "del-zone-tp", Args: "DATAPATH zone=ZONE", Brief: "delete the timeout policy of a zone",
			minArgs: 2, maxArgs: 2, Options: []Option{ifExists}, prepare: prepareZone, run: runDelZonePolicy,
		},
		{
			Name: "list-zone-tp", Args: "DATAPATH", Brief: "print the timeout policies of all zones",
			minArgs: 1, maxArgs: 1, prepare: prepareZone, run: runListZonePolicies,
		},
		{
			Name: "set-zone-limit", Args: "DATAPATH ZONE|default LIMIT", Brief: "limit the connections of a zone",
			minArgs: 3, maxArgs: 3, prepare: prepareZone, run: runSetZoneLimit,
		},
		{
			Name: "del-zone-limit", Args: "DATAPATH ZONE|default", Brief: "delete the limit of a zone",
			minArgs: 2, maxArgs: 2, Options: []Option{ifExists}, prepare: prepareZone, run: runDelZoneLimit,
		},
		{
			Name: "list-zone-limits", Args: "DATAPATH", Brief: "print the limits of all zones",
			minArgs: 1, maxArgs: 1, prepare: prepareZone, run: runListZoneLimits,
		},
		{
			Name: "list-dp-cap", Args: "DATAPATH", Brief: "print the capabilities of a datapath",
			minArgs: 1, maxArgs: 1, prepare: prepareCapabilities, run: runListCapabilities,
		},
	}
}

func prepareZone(p *plan, _ *Command) error {
	p.need("Open_vSwitch", "datapaths")
	p.need("Datapath", "ct_zones", "ct_zone_default_limit")
	p.need("CT_Zone", "timeout_policy", "limit")
	p.need("CT_Timeout_Policy", "timeouts")
	return nil
}

func prepareCapabilities(p *plan, _ *Command) error {
	p.need("Open_vSwitch", "datapaths")
	p.need("Datapath", "capabilities")
	return nil
}

// datapath returns the row of a datapath, or nil.
func (r *run) datapath(name string) *row {
	v, ok := r.value(r.ovs, "datapaths").Get(ovsdb.Str(name))
	if !ok {
		return nil
	}
	return r.row(r.schema.Tables["Datapath"], v.UUID())
}

// zone returns the row of a zone, or nil.
func (r *run) zone(dp *row, id int64) *row {
	v, ok := r.value(dp, "ct_zones").Get(ovsdb.Int(id))
	if !ok {
		return nil
	}
	return r.row(r.schema.Tables["CT_Zone"], v.UUID())
}

// newZone returns the row of a zone, which it makes if there is none.
func (r *run) newZone(dp *row, id int64) *row {
	z := r.zone(dp, id)
	if z == nil {
		z = r.insert(r.schema.Tables["CT_Zone"], nil)
		r.verifyName(dp, "ct_zones")
		r.change(dp, "ct_zones", ovsdb.Datum{}, ovsdb.NewMap(ovsdb.Pair{Key: ovsdb.Int(id), Value: ovsdb.Ref(z.id)}))
	}
	return z
}

// dropZone removes a zone that has neither policy nor limit left.
func (r *run) dropZone(dp *row, id int64, z *row) {
	if r.value(z, "timeout_policy").Len() == 0 && r.value(z, "limit").Len() == 0 {
		r.change(dp, "ct_zones", ovsdb.NewSet(ovsdb.Int(id)), ovsdb.Datum{})
		r.remove(z)
	}
}

// policyZone returns the datapath and the zone number of "DATAPATH zone=ZONE".
func (r *run) policyZone(c *Command) (*row, int64, error) {
	text, ok := strings.CutPrefix(c.Args[1], "zone=")
	id, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		return nil, 0, fmt.Errorf("invalid zone argument, %s", c.Args[1])
	}
	dp := r.datapath(c.Args[0])
	if dp == nil {
		return nil, 0, fmt.Errorf("datapath %s does not exist", c.Args[0])
	}
	return dp, id, nil
}

func runAddZonePolicy(r *run, c *Command) error {
	dp, id, err := r.policyZone(c)
	if err != nil {
		return err
	}
	var timeouts []ovsdb.Pair
	for _, arg := range c.Args[2:] {
		key, text, _ := strings.Cut(arg, "=")
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%s: not of the form KEY=SECONDS", arg)
		}
		timeouts = append(timeouts, ovsdb.Pair{Key: ovsdb.Str(key), Value: ovsdb.Int(n)})
	}
	if z := r.zone(dp, id); z != nil && r.value(z, "timeout_policy").Len() > 0 && !c.has("--may-exist") {
		return fmt.Errorf("zone id %d already has a policy", id)
	}
	z := r.newZone(dp, id)
	want := ovsdb.NewMap(timeouts...)
	policies := r.schema.Tables["CT_Timeout_Policy"]
	for _, p := range r.rows(policies) { // zones with the same timeouts share a policy
		if r.value(p, "timeouts").Equal(want) {
			r.verifyName(p, "timeouts")
			r.setName(z, "timeout_policy", ovsdb.UUIDSet(p.id))
			return nil
		}
	}
	p := r.insert(policies, nil)
	r.setName(p, "timeouts", want)
	r.setName(z, "timeout_policy", ovsdb.UUIDSet(p.id))
	return nil
}

func runDelZonePolicy(r *run, c *Command) error {
	dp, id, err := r.policyZone(c)
	if err != nil {
		return err
	}
	z := r.zone(dp, id)
	if z == nil || r.value(z, "timeout_policy").Len() == 0 {
		if c.has("--if-exists") {
			return nil
		}
		return fmt.Errorf("zone id %d does not have a policy", id)
	}
	r.verifyName(z, "limit")
	r.setName(z, "timeout_policy", ovsdb.Datum{})
	r.dropZone(dp, id, z)
	return nil
}

func runListZonePolicies(r *run, c *Command) error {
	dp := r.datapath(c.Args[0])
	if dp == nil {
		return fmt.Errorf("datapath: %s record not found", c.Args[0])
	}
	zones := r.value(dp, "ct_zones")
	for i := range zones.Len() {
		words := "system default"
		if z := r.row(r.schema.Tables["CT_Zone"], zones.Value(i).UUID()); z != nil {
			for _, p := range r.refs(z, "timeout_policy") {
				c := p.table.Column("timeouts")
				words = bareDatum(&c.Type, r.get(p, c))
			}
		}
		r.printf("Zone:%d, Timeout Policies: %s\n", zones.Key(i).Int(), words)
	}
	return nil
}

// limitZone returns the datapath and zone number of "DATAPATH ZONE|default"; isDefault is for the word.
func (r *run) limitZone(c *Command) (dp *row, id int64, isDefault bool, err error) {
	isDefault = c.Args[1] == "default"
	if !isDefault {
		if id, err = strconv.ParseInt(c.Args[1], 10, 64); err != nil {
			return nil, 0, false, fmt.Errorf("invalid zone id, %s", c.Args[1])
		}
		if id < 0 || id > math.MaxUint16 {
			return nil, 0, false, fmt.Errorf("zone_id (%d) out of range", id)
		}
	}
	if dp = r.datapath(c.Args[0]); dp == nil {
		return nil, 0, false, fmt.Errorf("datapath %s does not exist", c.Args[0])
	}
	if dp.table.Column("ct_zone_default_limit") == nil {
		return nil, 0, false, errors.New("the database's schema is too old for zone limits")
	}
	return dp, id, isDefault, nil
}

func runSetZoneLimit(r *run, c *Command) error {
	limit, err := strconv.ParseInt(c.Args[2], 10, 64)
	if err != nil {
		return fmt.Errorf("invalid limit, %s", c.Args[2])
	}
	if limit < 0 || limit > math.MaxUint32 {
		return fmt.Errorf("limit (%d) out of range", limit)
	}
	dp, id, isDefault, err := r.limitZone(c)
	if err != nil {
		return err
	}
	if isDefault {
		r.setName(dp, "ct_zone_default_limit", ovsdb.Scalar(ovsdb.Int(limit)))
		return nil
	}
	r.setName(r.newZone(dp, id), "limit", ovsdb.Scalar(ovsdb.Int(limit)))
	return nil
}

func runDelZoneLimit(r *run, c *Command) error {
	dp, id, isDefault, err := r.limitZone(c)
	if err != nil {
		return err
	}
	if isDefault {
		if r.value(dp, "ct_zone_default_limit").Len() == 0 && !c.has("--if-exists") {
			return fmt.Errorf("datapath %s does not have a limit", c.Args[0])
		}
		r.setName(dp, "ct_zone_default_limit", ovsdb.Datum{})
		return nil
	}
	z := r.zone(dp, id)
	if z == nil || r.value(z, "limit").Len() == 0 {
		if c.has("--if-exists") {
			return nil
		}
		return fmt.Errorf("zone_id %d does not have a limit", id)
	}
	r.verifyName(z, "timeout_policy")
	r.setName(z, "limit", ovsdb.Datum{})
	r.dropZone(dp, id, z)
	return nil
}

func runListZoneLimits(r *run, c *Command) error {
	dp := r.datapath(c.Args[0])
	if dp == nil {
		return fmt.Errorf("datapath: %s record not found", c.Args[0])
	}
	if n, ok := r.value(dp, "ct_zone_default_limit").Int(); ok {
		r.printf("Default, Limit: %d\n", n)
	}
	zones := r.value(dp, "ct_zones")
	for i := range zones.Len() {
		if z := r.row(r.schema.Tables["CT_Zone"], zones.Value(i).UUID()); z != nil {
			if n, ok := r.value(z, "limit").Int(); ok {
				r.printf("Zone: %d, Limit: %d\n", zones.Key(i).Int(), n)
			}
		}
	}
	return nil
}

func runListCapabilities(r *run, c *Command) error {
	dp := r.datapath(c.Args[0])
	if dp == nil {
		return fmt.Errorf(`datapath "%s" record not found`, c.Args[0])
	}
	col := dp.table.Column("capabilities")
	r.printf("%s\n", bareDatum(&col.Type, r.get(dp, col)))
	return nil
}
