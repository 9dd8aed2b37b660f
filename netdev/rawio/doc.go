// Package rawio is the data side of kernel descriptors: the system calls that poll
// threads make to move frames, and the vectors they take.
//
// The calls are raw: the Go scheduler is not told, so they must not block; all
// descriptors are non-blocking. They allocate nothing. Addresses are plain
// integers, as in internal/mem: packets' heads and tails are not on a Go stack,
// and stay where they are for the length of a call.
//
// The package refuses to know devices and what errors mean to them. A vector
// belongs to one thread at a time.
package rawio
