// Package virtiotest is the driver side of a virtio network device, for tests:
// what a guest's kernel does to the rings, and what no kernel would do.
//
// Ring is a split or packed virtqueue in memory that the test provides (a slice of the Go
// heap, a mapped memfd); it publishes chains, takes back what the device used,
// and keeps notification suppression as the specification has it (virtio 1.2,
// sections 2.7 and 2.8), from which it is written and not after the device side. Its Raw methods write any nonsense into the shared words. Net
// puts two rings together into a network card that sends frames in any chain
// layout and receives them into buffers of any shape.
//
// The package knows no file descriptor, socket or clock: kicking and waiting are
// the caller's. A Ring or Net belongs to one goroutine; the device may run in
// another, and the race detector sees the order between them when the memory is
// on the Go heap.
package virtiotest
