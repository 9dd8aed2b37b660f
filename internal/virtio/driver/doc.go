// Package driver is the driver side of virtqueues (virtio 1.2, sections 2.7 and 2.8) as state
// machines over memory: a receive ring posts buffers and collects what the device filled, a
// transmit ring takes pieces of frames and takes them back when the device has read them.
//
// Both own as many buffers as the ring has entries, all of one size and in a row, and buffer
// i goes by id i. So a split ring's descriptors are written once and hardly ever
// again, and of the available ring only the index: cache lines that nobody writes stay with
// both sides.
//
// The device is another process and can write to all of the memory at any moment. Nothing
// is read back from it but what the device has to say, each word once; which buffers
// are out, and how chains go on, is kept here. What the device says that cannot
// be true breaks the ring: it does nothing any more, and says why.
//
// The package knows no packets, descriptors of files, threads, clocks or logs. A
// ring belongs to one thread at a time.
package driver
