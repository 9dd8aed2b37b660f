// Package link is the control side of kernel network devices for the providers
// that have one: it reads their state, changes it, and tells when it changed, in
// any network namespace.
//
// A Namespace is shared by all who name the same one; it holds one netlink
// socket for requests and one for events, however many devices are watched.
//
// The package refuses to know frames and queues. Everything in it is for control
// code; any goroutine may call it.
package link
