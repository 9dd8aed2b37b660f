// Package datapath moves bursts of packets between devices: poll threads take
// them from rx queues, the bridges decide, tx queues get them.
//
// The nouns are Datapath, Bridge and Port, which control code makes and
// changes, and the poll threads, which do the work and are never called.
// A port's device is any netdev.Device; the package knows the contract of
// netdev only: no provider, no database, no command text.
//
// # Concurrency
//
// All exported methods are for control code and may be called from any
// goroutine; they may block for as long as a burst takes, and longer when a
// device's own call does. One mutex (Datapath.mu) orders them. It is not held
// while a device's method is called that may call back.
//
// Poll threads share nothing with control code but immutable snapshots, read
// by one atomic load a loop (see publish and Synchronize), counters that each
// have one writer (mem.Counter), and the few structures that say so: tx locks,
// MAC tables, inboxes. What is per packet uses integers and arrays of fixed
// size: no map, no interface call, no allocation.
//
// See docs/poll-threads.md for the operator's view.
package datapath
