// Package jsonrpc speaks JSON-RPC 1.0 over a byte stream, in the dialect that
// OVSDB (RFC 7047 section 4) and OVS's unixctl use: messages are JSON values
// one after the other, a request has an id, a notification has the id null, a
// reply has "result" and "error".
//
// It knows nothing of databases, commands or sockets beyond how to make a
// listening one (ListenUnix).
//
// Concurrency: every method of Conn may be called from any goroutine. Incoming
// messages are handled one at a time, in the order in which they came, on the
// goroutine that runs Serve. So when Call returns, every notification that the
// peer sent before its reply has been handled. The price: a handler must not
// wait for a reply on the same connection (use Go, or a goroutine of its own).
// Outgoing messages leave in the order in which they were given.
package jsonrpc
