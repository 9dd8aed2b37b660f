// Package virtio is the rings of virtio 1.2 as state machines over memory.
//
// A Ring is the device side of a virtqueue: Gather reads what the driver
// made available, Use returns it. The package knows
// no packets, sockets, threads, clocks or logs, and nothing of where the memory
// comes from: addresses of the driver go through a mem.Map.
//
// The driver is hostile until proven otherwise and can change the memory at any moment.
// So each shared word is read once into a local, the local is
// validated, and only the local is used; walks are bounded; a chain that breaks
// the rules is marked and returned like any other, and the ring goes on.
//
// A queue belongs to one thread at a time.
package virtio
