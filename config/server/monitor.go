package server

import (
	"slices"

	"github.com/gvswitch/gvswitch/config/ovsdb"
	"github.com/gvswitch/gvswitch/internal/jsonrpc"
)

// event is a bit of <monitor-select> (RFC 7047 section 4.1.5).
type event uint8

const (
	initial event = 1 << iota
	insert
	remove
	modify
)

// monitor is one client's view of a database's changes. version is the form of
// its messages: 1 for RFC 7047's update, 2 and 3 for update2 and update3.
type monitor struct {
	session *session
	db      *database
	id      any
	version int
	tables  map[*ovsdb.Table]*monitoredTable
}

type monitoredTable struct {
	table   *ovsdb.Table
	columns []monitoredColumn
	events  event             // what any request of the table asks for
	where   []ovsdb.Condition // a row that matches any clause is shown
}

type monitoredColumn struct {
	*ovsdb.Column
	events event
}

// zeroTxn is the transaction ID of a server that keeps no history, as
// ovsdb-server says for standalone databases.
var zeroTxn = ovsdb.UUID{}.String()

func (ss *session) monitor(r *jsonrpc.Request, params []any) (any, error) {
	m, err := ss.newMonitor(r, params, 1)
	if err != nil {
		return nil, err
	}
	return m.contents(), nil
}

func (ss *session) monitorCond(r *jsonrpc.Request, params []any) (any, error) {
	m, err := ss.newMonitor(r, params, 2)
	if err != nil {
		return nil, err
	}
	return m.contents(), nil
}

func (ss *session) monitorCondSince(r *jsonrpc.Request, params []any) (any, error) {
	m, err := ss.newMonitor(r, params, 3)
	if err != nil {
		return nil, err
	}
	return []any{false, zeroTxn, m.contents()}, nil
}

func (ss *session) newMonitor(r *jsonrpc.Request, params []any, version int) (*monitor, error) {
	d, err := ss.database(r, params)
	if err != nil {
		return nil, err
	}
	if want := max(3, version+1); len(params) != want {
		return nil, syntaxError(params, "%s request must have %d params", r.Method, want)
	}
	key := ovsdb.Canonical(params[1])
	if ss.monitors[key] != nil {
		return nil, syntaxError(params[1], "duplicate monitor ID")
	}
	requests, ok := params[2].(map[string]any)
	if !ok {
		return nil, syntaxError(params[2], "monitor-requests must be object")
	}
	m := &monitor{session: ss, db: d, id: params[1], version: version, tables: make(map[*ovsdb.Table]*monitoredTable)}
	for name, v := range requests {
		t := d.db.Schema().Tables[name]
		if t == nil {
			return nil, &ovsdb.Error{Tag: "syntax error", Details: "no table named " + name}
		}
		if m.tables[t], err = parseMonitoredTable(t, v, version > 1); err != nil {
			return nil, err
		}
	}
	ss.monitors[key] = m
	d.monitors = append(d.monitors, m)
	return m, nil
}

func (ss *session) monitorCancel(_ *jsonrpc.Request, params []any) (any, error) {
	if len(params) != 1 {
		return nil, jsonrpc.Errorf("invalid parameters")
	}
	m := ss.monitors[ovsdb.Canonical(params[0])]
	if m == nil {
		return nil, jsonrpc.Errorf("unknown monitor")
	}
	m.cancel()
	return struct{}{}, nil
}

func (m *monitor) cancel() {
	delete(m.session.monitors, ovsdb.Canonical(m.id))
	if i := slices.Index(m.db.monitors, m); i >= 0 {
		m.db.monitors = slices.Delete(m.db.monitors, i, i+1)
	}
}

// monitorCondChange gives tables of a monitor new conditions and sends what
// that brings into view or takes out of it, before the reply
// (ovsdb-server(7) section 4.1.13).
func (ss *session) monitorCondChange(_ *jsonrpc.Request, params []any) (any, error) {
	if len(params) != 3 {
		return nil, syntaxError(params, "invalid parameters")
	}
	m := ss.monitors[ovsdb.Canonical(params[0])]
	if m == nil {
		return nil, syntaxError(params[0], "unknown monitor session")
	}
	newKey := ovsdb.Canonical(params[1])
	if other := ss.monitors[newKey]; other != nil && other != m {
		return nil, syntaxError(params[1], "duplicate monitor ID")
	}
	requests, ok := params[2].(map[string]any)
	if !ok {
		return nil, syntaxError(params[2], "monitor-cond-change-requests must be object")
	}
	conds := make(map[*monitoredTable][]ovsdb.Condition)
	for name, v := range requests {
		mt := m.tables[m.db.db.Schema().Tables[name]]
		if mt == nil {
			return nil, &ovsdb.Error{Tag: "syntax error", Details: "no table named " + name + " in monitor session"}
		}
		next, err := parseMonitoredTable(mt.table, v, true)
		if err != nil {
			return nil, err
		}
		conds[mt] = next.where
	}
	delete(ss.monitors, ovsdb.Canonical(m.id))
	m.id = params[1]
	ss.monitors[newKey] = m
	updates := make(tableUpdates)
	for mt, where := range conds {
		for id, r := range m.db.db.Rows(mt.table) {
			was, is := ovsdb.MatchAny(mt.where, r), ovsdb.MatchAny(where, r)
			switch {
			case !was && is:
				updates.add(mt, id, m.row(mt, insert, nil, r))
			case was && !is:
				updates.add(mt, id, m.row(mt, remove, r, nil))
			}
		}
		mt.where = where
	}
	m.send(updates)
	return struct{}{}, nil
}
