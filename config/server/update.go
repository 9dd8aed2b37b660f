package server

import "github.com/gvswitch/gvswitch/config/ovsdb"

// tableUpdates is <table-updates> or <table-updates2>: table, row, update.
type tableUpdates map[string]map[string]any

func (u tableUpdates) add(mt *monitoredTable, id ovsdb.UUID, row any) {
	if row == nil {
		return
	}
	rows := u[mt.table.Name]
	if rows == nil {
		rows = make(map[string]any)
		u[mt.table.Name] = rows
	}
	rows[id.String()] = row
}

// contents are the rows of a new monitor's reply.
func (m *monitor) contents() tableUpdates {
	updates := make(tableUpdates)
	for t, mt := range m.tables {
		for id, r := range m.db.db.Rows(t) {
			if ovsdb.MatchAny(mt.where, r) {
				updates.add(mt, id, m.row(mt, initial, nil, r))
			}
		}
	}
	return updates
}

// notify tells all monitors of a committed transaction.
func (s *Server) notify(d *database, changes []ovsdb.Change) {
	if len(changes) == 0 {
		return
	}
	d.changed = true
	for _, m := range d.monitors {
		updates := make(tableUpdates)
		for i := range changes {
			c := &changes[i]
			if mt := m.tables[c.Table]; mt != nil {
				updates.add(mt, c.UUID(), m.change(mt, c.Old, c.New))
			}
		}
		m.send(updates)
	}
}

// change composes the update of one row; a row enters and leaves the view by
// its conditions, too.
func (m *monitor) change(mt *monitoredTable, old, now *ovsdb.Row) any {
	was := old != nil && ovsdb.MatchAny(mt.where, old)
	is := now != nil && ovsdb.MatchAny(mt.where, now)
	switch {
	case was && is:
		return m.row(mt, modify, old, now)
	case is:
		return m.row(mt, insert, nil, now)
	case was:
		return m.row(mt, remove, old, nil)
	default:
		return nil
	}
}

func (m *monitor) send(updates tableUpdates) {
	if len(updates) == 0 {
		return
	}
	switch m.version {
	case 1:
		_ = m.session.conn.Notify("update", []any{m.id, updates})
	case 2:
		_ = m.session.conn.Notify("update2", []any{m.id, updates})
	default:
		_ = m.session.conn.Notify("update3", []any{m.id, zeroTxn, updates})
	}
}

// row composes a <row-update> or <row-update2>, nil if there is nothing to say.
func (m *monitor) row(mt *monitoredTable, e event, old, now *ovsdb.Row) any {
	if mt.events&e == 0 {
		return nil
	}
	if m.version == 1 {
		return mt.rowUpdate(e, old, now)
	}
	return mt.rowUpdate2(e, old, now)
}

// rowUpdate is RFC 7047 section 4.1.6: "new" has all columns, "old" those of a
// deleted row or those that changed.
func (mt *monitoredTable) rowUpdate(e event, old, now *ovsdb.Row) any {
	oldJSON, newJSON := make(map[string]any), make(map[string]any)
	for _, c := range mt.columns {
		if c.events&e == 0 {
			continue
		}
		if now != nil {
			newJSON[c.Name] = c.Type.JSON(now.Get(c.Column))
		}
		if old != nil && (now == nil || !old.Get(c.Column).Equal(now.Get(c.Column))) {
			oldJSON[c.Name] = c.Type.JSON(old.Get(c.Column))
		}
	}
	switch {
	case now == nil:
		return map[string]any{"old": oldJSON}
	case old == nil:
		return map[string]any{"new": newJSON}
	case len(oldJSON) == 0:
		return nil
	default:
		return map[string]any{"old": oldJSON, "new": newJSON}
	}
}

// rowUpdate2 is ovsdb-server(7) section 4.1.14: defaults are left out, changes
// are differences.
func (mt *monitoredTable) rowUpdate2(e event, old, now *ovsdb.Row) any {
	if e == remove {
		return map[string]any{"delete": nil}
	}
	row := make(map[string]any)
	for _, c := range mt.columns {
		if c.events&e == 0 {
			continue
		}
		d := now.Get(c.Column)
		switch {
		case e != modify && !d.Equal(c.Type.Default()):
			row[c.Name] = c.Type.JSON(d)
		case e == modify && !d.Equal(old.Get(c.Column)):
			row[c.Name] = c.Type.JSON(c.Type.Diff(old.Get(c.Column), d))
		}
	}
	switch {
	case e == initial:
		return map[string]any{"initial": row}
	case e == insert:
		return map[string]any{"insert": row}
	case len(row) == 0:
		return nil
	default:
		return map[string]any{"modify": row}
	}
}
