package store

import (
	"crypto/sha1" //nolint:gosec // the format's checksum, against accidents
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/google/renameio/v2"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// newFileMode is the permission of a new database: it may hold secrets (SSL
// keys' places, IPsec keys), so it is not for everyone.
const newFileMode = 0o640

// encoder makes the file's bytes. It remembers each row's text, so that a
// transaction costs what it changed, and the rest is copied.
type encoder struct {
	db     *ovsdb.DB
	schema []byte // the first record
	rows   map[*ovsdb.Row][]byte
	buf    []byte // kept for its capacity
}

func newEncoder(db *ovsdb.DB) *encoder {
	schema := append(slices.Clone(db.Schema().JSON()), '\n')
	return &encoder{db: db, schema: appendRecord(nil, schema), rows: make(map[*ovsdb.Row][]byte)}
}

// row returns a row's text: its persistent columns.
func (e *encoder) row(t *ovsdb.Table, r *ovsdb.Row) ([]byte, error) {
	if b, ok := e.rows[r]; ok {
		return b, nil
	}
	b, err := t.AppendFile(nil, r)
	if err != nil {
		return nil, err
	}
	e.rows[r] = b
	return b, nil
}

// file returns the whole database as two records, the schema and all rows.
// The bytes are valid until the next call.
func (e *encoder) file(comment string, now time.Time) ([]byte, error) {
	b := append(e.buf[:0], `{"_date":`...)
	b = strconv.AppendInt(b, now.UnixMilli(), 10)
	if comment != "" {
		text, err := ovsdb.EncodeJSON(comment)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"_comment":`...), text...)
	}
	schema := e.db.Schema()
	for _, name := range schema.TableNames() {
		t := schema.Tables[name]
		rows := e.db.Rows(t)
		if len(rows) == 0 {
			continue
		}
		b = append(b, `,"`+name+`":{`...)
		for i, id := range slices.SortedFunc(maps.Keys(rows), ovsdb.UUID.Compare) {
			text, err := e.row(t, rows[id])
			if err != nil {
				return nil, err
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, `"`+id.String()+`":`...), text...)
		}
		b = append(b, '}')
	}
	b = append(b, "}\n"...)
	e.buf = b
	return appendRecord(slices.Clone(e.schema), b), nil
}

// appendRecord appends a record's header and its text, which ends with a line
// feed.
func appendRecord(b, text []byte) []byte {
	b = fmt.Appendf(b, "OVSDB JSON %d %x\n", len(text), sha1.Sum(text)) //nolint:gosec // see above
	return append(b, text...)
}

// replace puts b in path's place: it is on disk, under that name, when replace
// returns nil, and if anything fails before the rename the old file is as it
// was.
func replace(path string, b []byte) error {
	dir := filepath.Dir(path)
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir),
		renameio.WithStaticPermissions(newFileMode), renameio.WithExistingPermissions())
	if err != nil {
		return fmt.Errorf("database %s: %w", path, err)
	}
	defer f.Cleanup() //nolint:errcheck // after success there is nothing to clean
	if _, err := f.Write(b); err != nil {
		return fmt.Errorf("database %s: %w", path, err)
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("database %s: %w", path, err)
	}
	return syncDir(dir)
}

// syncDir makes a rename in the directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
