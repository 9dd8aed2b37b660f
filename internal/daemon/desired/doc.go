// Package desired turns rows of the configuration database into the switch that they ask for: bridges, ports, devices and poll threads as
// plain values, each with what is wrong with it.
//
// It refuses to know how the database is reached, what is running at the moment, and how anything is made: it is a function of the rows.
// What depends on the present (a device that another port already has, a port number that is taken) is for the caller to find.
//
// Bad input never stops the rest. A value that is out of range makes the smallest thing that it belongs to unusable (its configuration is
// nil or its Refused is set), and the caller keeps what ran before; a setting that this switch does not have is a warning.
//
// Concurrency: Read keeps nothing; a State is not changed after Read returns it.
package desired

import "github.com/gvswitch/gvswitch/config/ovsdb"

// Row is one row of the database.
type Row interface {
	UUID() ovsdb.UUID
	// Get returns a column; the empty Datum when the row has no such column.
	Get(column string) ovsdb.Datum
}

// Rows is the content of the database at one moment.
type Rows interface {
	// Table returns all rows of a table, in any order.
	Table(name string) []Row
	// Row returns one row, or nil.
	Row(table string, id ovsdb.UUID) Row
}
