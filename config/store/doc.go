// Package store keeps a database in a file: the standalone format of OVSDB
// (ovsdb(5)), so that ovsdb-tool and ovsdb-server read it too.
//
// Every transaction writes the whole database to a temporary file, fsyncs it
// and renames it over the old one. So the file is complete at any moment, also
// after kill -9 or a power failure, and one that is cut short or fails its
// checksums was damaged by something else: Open refuses it and leaves it as it
// is. A configuration is some hundred kilobytes, which makes this cheap; see
// docs/decisions/0002-ovsdb-engine.md.
//
// It refuses to know the protocol and what the data mean.
//
// Concurrency: a Store is used by one goroutine at a time, as the ovsdb.DB is.
// Two processes cannot open the same file: the lock is the one that
// ovsdb-server takes.
package store
