// Package status puts what has become of the configuration into the columns that ovs-vswitchd.conf.db(5) has for it: Interface.ofport,
// error, link_state, statistics and so on, and Open_vSwitch.cur_cfg.
//
// It refuses to know the database: it makes values, and says which of them differ from what the rows hold.
//
// Concurrency: functions of their arguments; nothing is kept.
package status

import (
	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/internal/daemon/desired"
)

// Columns is the new values of a row.
type Columns map[string]ovsdb.Datum

// Update is a change of a row.
type Update struct {
	Table   string
	UUID    ovsdb.UUID
	Columns Columns
}

// Changed returns those of the columns whose value differs from the row's, nil if none does or there is no such row.
func Changed(rows desired.Rows, table string, id ovsdb.UUID, want Columns) Columns {
	row := rows.Row(table, id)
	if row == nil {
		return nil
	}
	var out Columns
	for name, v := range want {
		if row.Get(name).Equal(v) {
			continue
		}
		if out == nil {
			out = Columns{}
		}
		out[name] = v
	}
	return out
}

// optional is a set of one atom, or of none.
func optional(has bool, a ovsdb.Atom) ovsdb.Datum {
	if !has {
		return ovsdb.Datum{}
	}
	return ovsdb.Scalar(a)
}

func optionalStr(s string) ovsdb.Datum { return optional(s != "", ovsdb.Str(s)) }
