package desired

import (
	"strconv"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// column is a column of the schema that this switch stores but does not act on, with the value that asks for nothing.
type column struct {
	name string
	idle func(ovsdb.Datum) bool // nil: an empty column
	note string                 // what happens in its place, "" if there is nothing to say
}

func isFalse(d ovsdb.Datum) bool { v, _ := d.Bool(); return !v }
func isZero(d ovsdb.Datum) bool  { v, _ := d.Int(); return v == 0 }

func isWord(words ...string) func(ovsdb.Datum) bool {
	return func(d ovsdb.Datum) bool {
		for _, w := range words {
			if d.Str() == w {
				return true
			}
		}
		return d.Len() == 0
	}
}

// enables is for map columns in which one key switches the feature on.
func enables(key string) func(ovsdb.Datum) bool {
	return func(d ovsdb.Datum) bool { v, _ := d.MapValue(key); return v != "true" }
}

var (
	rootColumns = []column{
		{name: "manager_options", note: "the database listens on its unix socket only"},
		{name: "ssl"},
		{name: "datapaths", note: "there is no connection tracking"},
	}
	bridgeColumns = []column{
		{name: "stp_enable", idle: isFalse},
		{name: "rstp_enable", idle: isFalse},
		{name: "mcast_snooping_enable", idle: isFalse, note: "multicast is flooded"},
		{name: "netflow"},
		{name: "sflow"},
		{name: "ipfix"},
		{name: "controller"},
		{name: "protocols"},
		{name: "auto_attach"},
	}
	tableColumns = []column{
		{name: "overflow_policy", idle: isWord("refuse"), note: "a flow that is too many is refused"},
		{name: "groups"},
	}
	portColumns = []column{
		{name: "qos"},
		{name: "mac"},
	}
	interfaceColumns = []column{
		{name: "bfd", idle: enables("enable")},
		{name: "cfm_mpid"},
		{name: "lldp", idle: enables("enable")},
	}
)

// unsupported warns about each of the columns that asks for something.
func unsupported(row Row, columns []column, report *Report) {
	for _, c := range columns {
		v := row.Get(c.name)
		if c.idle == nil && v.Len() == 0 || c.idle != nil && c.idle(v) {
			continue
		}
		if c.note == "" {
			report.warn("%s is stored but has no effect in this switch", c.name)
		} else {
			report.warn("%s is stored but has no effect in this switch: %s", c.name, c.note)
		}
	}
}

func quoteName(s string) string { return strconv.Quote(s) }
