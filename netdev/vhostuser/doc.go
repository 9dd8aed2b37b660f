// Package vhostuser is the port to a guest by vhost-user: type dpdkvhostuser, where
// the switch listens on a socket, and dpdkvhostuserclient, where it connects to
// one and goes on trying for ever.
//
// A connection has one goroutine, which runs internal/vhostuser's Session and is
// its Device: it maps memory, builds the queues that poll threads use, and
// takes them away again. A queue object never changes: another state of a ring is
// another object in new Queues slices. Taking something away is always: out of
// Queues, Host.Changed, which returns when no poll thread is inside, then
// the act.
//
// Locks, in this order: peer.mu (one message at a time; held over Host.Changed,
// so nothing that the datapath calls may take it), then Device.mu (what Info and
// Queues show; held for moments only).
//
// The package refuses to know bridges, flows and other ports.
package vhostuser
