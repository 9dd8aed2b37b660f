// Package server serves databases over RFC 7047, with ovsdb-server's
// extensions (ovsdb-server(7)): conditional monitors, the database _Server,
// locks. Debian's ovs-vsctl and ovsdb-client work against it.
//
// It refuses to know what the databases mean and where they are stored: it
// executes transactions on an ovsdb.DB and calls the given function to make
// them durable.
//
// Concurrency: one mutex guards everything, taken once for each request.
// Replies and notifications are queued while it is held, which gives the order
// that clients rely on: the update that a transaction causes comes before its
// reply, and a monitor's first contents before its first update. Queueing
// never blocks; a client that does not read is cut off.
package server
