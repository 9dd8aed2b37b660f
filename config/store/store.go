package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// ErrLocked says that another process has the database open.
var ErrLocked = errors.New("another process uses it")

// Store is a database and its file.
type Store struct {
	path  string
	lock  *os.File
	db    *ovsdb.DB
	enc   *encoder
	lost  []string
	stale bool // the file does not have what is in memory
}

// Open reads the database of that schema from path, or makes an empty one if
// there is no file; the directory must exist. A damaged file gives an error
// with the place and the reason and stays untouched. A file of another version
// of the schema is converted; Lost says what was left out, and the file is
// rewritten with the first change.
func Open(path string, schema *ovsdb.Schema) (*Store, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a rename must not replace the link
	}
	lock, err := lockFile(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, lock: lock}
	if err := s.load(schema); err != nil {
		_ = lock.Close()
		return nil, err
	}
	s.removeLeftovers()
	return s, nil
}

func (s *Store) load(schema *ovsdb.Schema) error {
	db, err := readFile(s.path, schema)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.db = ovsdb.NewDB(schema)
		s.enc = newEncoder(s.db)
		return s.write("new database")
	case err != nil:
		return fmt.Errorf("database %w", err)
	case db.Schema().Name != schema.Name:
		return fmt.Errorf("database %s: it is a database %s, not %s", s.path, db.Schema().Name, schema.Name)
	}
	if db.Schema() == schema {
		s.db = db
	} else if s.db, s.lost, err = db.Convert(schema); err != nil {
		return fmt.Errorf("database %s: it cannot be converted to schema version %s: %w", s.path, schema.Version, err)
	}
	s.enc = newEncoder(s.db)
	return nil
}

// temporary is the names that replace uses.
var temporary = regexp.MustCompile(`^[0-9]+$`)

// removeLeftovers deletes temporary files of a process that was killed while
// it wrote one. The lock keeps others from having one open.
func (s *Store) removeLeftovers() {
	prefix := "." + filepath.Base(s.path)
	entries, err := os.ReadDir(filepath.Dir(s.path))
	if err != nil {
		return
	}
	for _, e := range entries {
		name := e.Name()
		if len(name) > len(prefix) && name[:len(prefix)] == prefix && temporary.MatchString(name[len(prefix):]) {
			_ = os.Remove(filepath.Join(filepath.Dir(s.path), name))
		}
	}
}

// DB returns the database. Its owner passes Commit to each Execute.
func (s *Store) DB() *ovsdb.DB { return s.db }

// Lost names what Open could not convert.
func (s *Store) Lost() []string { return s.lost }

// Commit writes the database; it is an ovsdb.Env.Commit. Changes of ephemeral
// columns alone write nothing.
func (s *Store) Commit(changes []ovsdb.Change, comment string) error {
	durable, err := s.update(changes)
	if err != nil {
		return err
	}
	if !durable && !s.stale {
		return nil
	}
	if err := s.write(comment); err != nil {
		for i := range changes {
			delete(s.enc.rows, changes[i].New)
		}
		return err
	}
	return nil
}

// update renews the rows' texts and reports whether any changed.
func (s *Store) update(changes []ovsdb.Change) (changed bool, err error) {
	for i := range changes {
		c := &changes[i]
		var before, after []byte
		if c.Old != nil {
			if before, err = s.enc.row(c.Table, c.Old); err != nil {
				return false, err
			}
			delete(s.enc.rows, c.Old)
		}
		if c.New != nil {
			if after, err = s.enc.row(c.Table, c.New); err != nil {
				return false, err
			}
		}
		changed = changed || !bytes.Equal(before, after)
	}
	return changed, nil
}

func (s *Store) write(comment string) error {
	b, err := s.enc.file(comment, time.Now())
	if err == nil {
		err = replace(s.path, b)
	}
	// After a failure the file may have the change that memory does not.
	s.stale = err != nil
	return err
}

// Close gives the file free for others. The database must not be changed any
// more.
func (s *Store) Close() error { return s.lock.Close() }
