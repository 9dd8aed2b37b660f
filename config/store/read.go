package store

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the format's checksum, against accidents
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// ReadOVSDBFile reads a standalone database file as ovsdb-server or Open
// writes it. The schema is the file's own. It takes no lock and changes
// nothing. An error names the file, the record, its offset in bytes and the
// reason; a file that ends within a record is an error.
func ReadOVSDBFile(path string) (*ovsdb.DB, error) { return readFile(path, nil) }

// readFile uses the given schema in place of an equal one of the file.
func readFile(path string, known *ovsdb.Schema) (*ovsdb.DB, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	db, err := decode(b, known)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return db, nil
}

// decode reads a whole file's bytes.
func decode(b []byte, known *ovsdb.Schema) (*ovsdb.DB, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("the file is empty, not even a schema is there")
	}
	f := fileReader{rest: b, size: len(b)}
	record, err := f.next()
	if err != nil {
		return nil, err
	}
	schema, err := ovsdb.ParseSchema(record)
	if err != nil {
		return nil, f.bad("%w", err)
	}
	if known != nil && bytes.Equal(known.JSON(), schema.JSON()) {
		schema = known
	}
	content := make(ovsdb.Content)
	for len(f.rest) > 0 {
		if record, err = f.next(); err != nil {
			return nil, err
		}
		if err := addRecord(schema, content, record); err != nil {
			return nil, f.bad("%w", err)
		}
	}
	db := ovsdb.NewDB(schema)
	if err := db.Load(content); err != nil {
		return nil, fmt.Errorf("the records make no valid database: %w", err)
	}
	return db, nil
}

// fileReader walks over the records.
type fileReader struct {
	rest   []byte
	size   int
	number int // of the record at hand, from 1
	offset int // where it starts
}

func (f *fileReader) bad(format string, args ...any) error {
	return fmt.Errorf("record %d at offset %d: %w", f.number, f.offset, fmt.Errorf(format, args...))
}

// next checks the next record's header, length and checksum and returns its
// JSON.
func (f *fileReader) next() ([]byte, error) {
	f.number++
	f.offset = f.size - len(f.rest)
	line, rest, complete := bytes.Cut(f.rest, []byte("\n"))
	if !complete {
		return nil, f.bad("the file ends within the record's first line")
	}
	words := strings.Split(string(line), " ")
	if len(words) != 4 || words[0] != "OVSDB" {
		return nil, f.bad("no OVSDB record starts here")
	}
	if words[1] == "CLUSTER" {
		return nil, f.bad("this is a clustered database, \"ovsdb-tool cluster-to-standalone\" converts it")
	}
	length, err := strconv.ParseInt(words[2], 10, 63)
	if err != nil || words[1] != "JSON" || length <= 0 || len(words[3]) != 2*sha1.Size {
		return nil, f.bad("no OVSDB record starts here")
	}
	if length > int64(len(rest)) {
		return nil, f.bad("it should have %d bytes, but the file ends after %d", length, len(rest))
	}
	record := rest[:length]
	sum := sha1.Sum(record) //nolint:gosec // see above
	if hex.EncodeToString(sum[:]) != words[3] {
		return nil, f.bad("its checksum is wrong")
	}
	f.rest = rest[length:]
	return record, nil
}

// addRecord applies a transaction record.
func addRecord(schema *ovsdb.Schema, content ovsdb.Content, record []byte) error {
	v, err := ovsdb.DecodeJSON(record)
	if err != nil {
		return err
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("not a JSON object")
	}
	isDiff := obj["_is_diff"] == true
	for name, tv := range obj {
		if strings.HasPrefix(name, "_") {
			continue
		}
		t := schema.Tables[name]
		rows, ok := tv.(map[string]any)
		if t == nil || !ok {
			return fmt.Errorf("table %s is not in the schema", name)
		}
		if content[t] == nil {
			content[t] = make(map[ovsdb.UUID]map[*ovsdb.Column]ovsdb.Datum)
		}
		for idText, rv := range rows {
			id, err := ovsdb.ParseUUID(idText)
			if err != nil {
				return fmt.Errorf("table %s: %w", name, err)
			}
			if err := addRow(t, content[t], id, rv, isDiff); err != nil {
				return fmt.Errorf("table %s row %s: %w", name, id, err)
			}
		}
	}
	return nil
}

// addRow applies a <row-txn>. In a record with "_is_diff" (OVS 2.16 and later)
// a column that had a value has the difference to it, as in update2.
func addRow(t *ovsdb.Table, rows map[ovsdb.UUID]map[*ovsdb.Column]ovsdb.Datum, id ovsdb.UUID, v any, isDiff bool) error {
	if v == nil {
		if rows[id] == nil {
			return fmt.Errorf("deleted, but not there")
		}
		delete(rows, id)
		return nil
	}
	parse := t.ParseRow
	if isDiff && rows[id] != nil {
		parse = t.ParseDiff
	}
	vals, err := parse(v)
	if err != nil {
		return err
	}
	row := rows[id]
	if row == nil {
		row = make(map[*ovsdb.Column]ovsdb.Datum, len(vals))
		rows[id] = row
	}
	for c, d := range vals {
		old, had := row[c]
		if !had {
			old = c.Type.Default()
		}
		if isDiff && !old.Equal(c.Type.Default()) {
			d = c.Type.Apply(old, d)
		}
		if err := c.Type.Check(d); err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		row[c] = d
	}
	return nil
}
