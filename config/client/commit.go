package client

import (
	"encoding/json"
	"fmt"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// send executes the transaction; a Tx without operations sends nothing.
func (x *Tx) send() error {
	if x.err != nil || len(x.ops) == 0 {
		return x.err
	}
	results, err := x.transact(x.ops)
	x.results = results
	return err
}

// UUID gives the UUID of a row that Insert made, after Commit.
func (x *Tx) UUID(inserted ovsdb.UUID) (ovsdb.UUID, error) {
	i, ok := x.inserts[inserted]
	if !ok || i >= len(x.results) {
		return ovsdb.UUID{}, fmt.Errorf("row %s was not inserted by this transaction", inserted)
	}
	var reply struct {
		UUID [2]string `json:"uuid"`
	}
	if err := json.Unmarshal(x.results[i], &reply); err != nil {
		return ovsdb.UUID{}, fmt.Errorf("result of insert: %w", err)
	}
	return ovsdb.ParseUUID(reply.UUID[1])
}

// Row gives the answer to the Select with that index, after Commit: an empty
// Columns if the row is gone.
func (x *Tx) Row(index int) (Columns, error) {
	if index >= len(x.results) {
		return nil, fmt.Errorf("operation %d has no result", index)
	}
	v, err := ovsdb.DecodeJSON(x.results[index])
	if err != nil {
		return nil, err
	}
	reply, _ := v.(map[string]any)
	rows, ok := reply["rows"].([]any)
	if !ok {
		return nil, fmt.Errorf("result of select: no rows")
	}
	cols := make(Columns)
	for _, row := range rows {
		op, _ := x.ops[index].(map[string]any)
		name, _ := op["table"].(string)
		t := x.table(name)
		if t == nil {
			return nil, x.err
		}
		vals, err := t.ParseRow(row)
		if err != nil {
			return nil, fmt.Errorf("result of select: %w", err)
		}
		for c, d := range vals {
			cols[c.Name] = d
		}
	}
	return cols, nil
}
