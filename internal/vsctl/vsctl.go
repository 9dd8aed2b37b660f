// Package vsctl is ovs-vsctl as a library: its grammar, its commands, run in one transaction of an OVSDB database with the Open_vSwitch
// schema, and the formatting of what they say. On top come gvsctl's own: the short form of add-port, checks before a change is sent, and
// JSON for programs; Options.Compat takes these away.
//
// The grammar and the texts are those of ovs-vsctl(8), because scripts and management systems depend on them.
//
// It refuses to know the switch, command lines (global options, exit statuses) and how a database is reached: it works on a Database.
//
// Concurrency: a Session is used by one goroutine. Commands are plain values.
package vsctl

import (
	"context"
	"encoding/json"

	"github.com/gvswitch/gvswitch/config/ovsdb"
)

// Row is one row's columns by name. A column that is missing has its default value. Rows are not changed once they are in a Snapshot.
type Row map[string]ovsdb.Datum

// Snapshot is the content of a database at one moment, as far as it is monitored: rows by table and UUID.
type Snapshot map[string]map[ovsdb.UUID]Row

// Database is a connection to an OVSDB server, as vsctl needs it.
type Database interface {
	// Schema returns the schema of the database.
	Schema() *ovsdb.Schema
	// Monitor begins to follow the named columns of the named tables. It is called once, before Snapshot.
	Monitor(ctx context.Context, columns map[string][]string) error
	// Snapshot returns the current content and its number, which grows with each change.
	Snapshot() (Snapshot, uint64)
	// Wait returns when the content is newer than the one with number seen.
	Wait(ctx context.Context, seen uint64) error
	// Transact runs operations (RFC 7047 section 5.2) in a transaction. The reply has a result for each operation, and one more if the
	// commit failed.
	Transact(ctx context.Context, ops []any) ([]json.RawMessage, error)
}

// Options are what holds for all commands of a session.
type Options struct {
	Compat  bool // be ovs-vsctl: no short form, no checks of names, its texts to the letter
	NoWait  bool // do not wait for the switch to apply the change
	DryRun  bool // let the database check the change, then drop it
	Oneline bool // one line of output for each command
	Style   Style

	// Program and Args go into the database's log with the change.
	Program string
	Args    []string

	// Warn is told what is suspicious but no error. It may be nil.
	Warn func(text string)
}

func (o *Options) warn(text string) {
	if o.Warn != nil {
		o.Warn(text)
	}
}
