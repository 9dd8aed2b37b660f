// Package client reaches an OVSDB database (RFC 7047), whether gvswitchd's own
// or an ovsdb-server: Conn is one connection, Tx builds and sends a
// transaction, Replica keeps a copy of tables up to date and gives consistent
// snapshots of it.
//
// It refuses to know what the tables mean. It takes names and types from the
// server's own schema, so it works with other versions too.
//
// Concurrency: all methods may be called from any goroutine, except those of a
// Tx, which belongs to one. A Snapshot never changes. When Commit of a Tx
// returns, the Replica shows what it did: the server sends the update before
// the reply (ovsdb-server(7) section 4.1.5).
package client
