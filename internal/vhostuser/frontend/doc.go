// Package frontend is a scripted vhost-user front end for tests: a guest without
// a virtual machine. Conn sends any message, well-formed or not, with any
// descriptors, and reads replies; RAM is guest memory in as many memfds as wanted;
// Guest is a whole network card on top, with the rings of virtiotest, that
// behaves unless told otherwise.
//
// It knows nothing of the switch but the socket. A Guest belongs to one goroutine,
// except that each of its queue pairs may be used by one of its own.
package frontend
