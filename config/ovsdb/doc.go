// Package ovsdb is the data model and the transaction engine of an OVSDB
// database as RFC 7047 describes it: schema, atoms and datums, their JSON wire
// form, and a DB that executes transactions with referential integrity,
// garbage collection of unreferenced rows and all constraints. Where the RFC
// leaves room, or where ovsdb-server differs from it, it does what
// ovsdb-server does (ovsdb-server(7)), including the wording of errors,
// because clients compare it.
//
// It refuses to know sockets, sessions, files and time: how long a
// transaction has waited comes in, and the durable write is a function of the
// caller's.
//
// Concurrency: a Schema, a Datum and a committed Row never change and may be
// shared freely. A DB has no lock; its owner makes sure that one goroutine at
// a time uses it.
package ovsdb
