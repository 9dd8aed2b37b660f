// Package mem is the only place that knows how to touch memory shared with
// another party: guest RAM, rings, kernel-mapped queues.
//
// It holds the 16-bit atomics that Go lacks (virtio ring indices are 16 bits
// wide and only 2-aligned), plain loads, stores and copies by address, the
// table that translates a front end's addresses (Map), off-heap memory (Alloc)
// and the single-writer counter (Counter).
//
// It refuses to know what the memory means: no ring, packet or protocol type
// appears here. Addresses are plain uintptr values: the memory behind them is
// never on a Go stack, and whoever hands them out keeps it alive and mapped.
//
// A load or store of memory that its owner took away (a truncated memfd)
// raises SIGBUS. Goroutines that use this package on foreign memory set
// debug.SetPanicOnFault and recover.
package mem
