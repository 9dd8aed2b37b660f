package desired

import (
	"slices"
	"strconv"
	"time"
)

// minMaxIdle is the least max-idle, in milliseconds (ovs-vswitchd.conf.db(5)).
const minMaxIdle = 500

// readFlows reads the keys about translated flows. Those of Open vSwitch's caches are taken and have no effect: the caches here choose their size by what the
// traffic gains from them.
func readFlows(o *options) *Flows {
	f := &Flows{}
	bad := false
	number := func(key string, lowest int) int {
		v, ok := o.take(key)
		if !ok || v == "" {
			return 0
		}
		n, err := strconv.ParseInt(v, 10, 31)
		if err != nil || int(n) < lowest {
			o.fail(key, v, "not a number of at least %d", lowest)
			bad = true
		}
		return int(n)
	}
	f.Limit = number("flow-limit", 1)
	f.MaxIdle = time.Duration(number("max-idle", minMaxIdle)) * time.Millisecond
	number("emc-insert-inv-prob", 0)
	before := o.bad
	o.boolean("smc-enable", false)
	if bad || o.bad != before {
		return nil
	}
	return f
}

// flowTables reads a bridge's Flow_Table rows.
func (r *reader) flowTables(bridge Row, report *Report) []Table {
	var out []Table
	tables := bridge.Get("flow_tables")
	for i := range tables.Len() {
		number := tables.Key(i).Int()
		t := r.rows.Row("Flow_Table", tables.Value(i).UUID())
		if t == nil {
			continue
		}
		limit, _ := t.Get("flow_limit").Int()
		out = append(out, Table{Number: uint8(number), Name: t.Get("name").Str(), Limit: int(limit)})
		var about Report
		unsupported(t, tableColumns, &about)
		for _, w := range about.Warnings {
			report.warn("flow_tables:%d: %s", number, w)
		}
	}
	slices.SortFunc(out, func(a, b Table) int { return int(a.Number) - int(b.Number) })
	return out
}
