package server

import "github.com/gvswitch/gvswitch/config/ovsdb"

// parseMonitoredTable reads a table's <monitor-request>s: an array, or one
// object alone as ovsdb-server(7) section 4.1.5 allows. Several requests may
// ask for different events of different columns; the conditions of all are
// alternatives.
func parseMonitoredTable(t *ovsdb.Table, v any, conditional bool) (*monitoredTable, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	mt := &monitoredTable{table: t}
	everyRow := false
	for _, item := range list {
		req, ok := item.(map[string]any)
		if !ok {
			return nil, syntaxError(item, "monitor request must be object")
		}
		for member := range req {
			if member != "columns" && member != "select" && (member != "where" || !conditional) {
				return nil, syntaxError(item, "Parsing table %s failed: Member '%s' is present but not allowed here.",
					t.Name, member)
			}
		}
		events, err := parseSelect(req["select"])
		if err != nil {
			return nil, err
		}
		if err := mt.addColumns(req, events); err != nil {
			return nil, err
		}
		where, err := parseWhere(t, req)
		if err != nil {
			return nil, err
		}
		everyRow = everyRow || len(where) == 0
		mt.where = append(mt.where, where...)
	}
	if everyRow {
		mt.where = nil
	}
	return mt, nil
}

func parseWhere(t *ovsdb.Table, req map[string]any) ([]ovsdb.Condition, error) {
	v, ok := req["where"]
	if !ok {
		return nil, nil
	}
	return ovsdb.ParseConditions(t, v, nil)
}

// addColumns adds the columns of a request; none named means all but _uuid.
func (mt *monitoredTable) addColumns(req map[string]any, events event) error {
	columns := mt.table.Columns[1:]
	v, ok := req["columns"]
	if ok {
		var err error
		if columns, err = mt.table.ParseColumns(v); err != nil {
			return err
		}
	}
	mt.events |= events
	for _, c := range columns {
		for _, have := range mt.columns {
			if have.Column == c {
				return syntaxError(v, "column %s mentioned more than once", c.Name)
			}
		}
		mt.columns = append(mt.columns, monitoredColumn{c, events})
	}
	return nil
}

// parseSelect reads a <monitor-select>: what is not mentioned is wanted.
func parseSelect(v any) (event, error) {
	all := initial | insert | remove | modify
	if v == nil {
		return all, nil
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return 0, syntaxError(v, "monitor-select must be object")
	}
	for name, want := range obj {
		bit := map[string]event{"initial": initial, "insert": insert, "delete": remove, "modify": modify}[name]
		yes, ok := want.(bool)
		if bit == 0 || !ok {
			return 0, syntaxError(v, "Parsing monitor-select failed: bad member '%s'", name)
		}
		if !yes {
			all &^= bit
		}
	}
	return all, nil
}
