// Package netdev is the contract between the datapath and the devices that
// carry frames. Providers live below this folder, one each; they and the
// datapath know this package and never each other.
//
// # Life cycle
//
//  1. A provider's Open(name, options, host) makes the Device or fails with an
//     error that names the option, its value and the reason. The device may
//     start its own goroutines for protocol and events; it never polls.
//  2. The datapath takes the device's Info and Queues, publishes them to the
//     poll threads and from then on calls Recv, Release and Send.
//  3. When anything of Info or Queues changes (a guest attaches, a link goes
//     down, a queue gets another kick descriptor), the device makes the new state
//     visible in Info and Queues and calls Host.Changed. Changed returns when no
//     poll thread uses the old state any more. So a device that is about to take
//     something away removes it from Queues, calls Changed, and then
//     takes it away (unmaps, closes); one that adds something with
//     new abilities announces it by Changed and then lets packets through.
//  4. Close stops the device. The datapath has taken it out of every snapshot
//     and waited before it calls Close, so no poll thread is inside.
//     Close ends the device's goroutines, unmaps, closes and removes what Open
//     made, and returns when all that is done. It is called once.
//
// # Who owns what, when
//
// Recv fills packets 0..n-1 of the burst. Their heads are the burst's own; their
// tails are lent by the queue until Release, which the datapath calls
// exactly once after each Recv that gave packets, after all sends.
// Send consumes every packet that it is given: it is sent or counted under a
// reason in the port's TxStats, and nothing of it is read after Send returns.
//
// # Threads
//
// An RxQueue is polled by one thread at a time. A TxQueue may be shared; the
// datapath then holds a lock around Send. Recv, Release and Send run on poll
// threads: they do not allocate, block, log or take locks that control
// code holds for long. They may fault (SIGBUS) when memory behind a port
// vanishes: the poll thread recovers and asks each port's Faulter whose it was.
// All other methods are for control code and may be called from any goroutine.
//
// # Counting
//
// Every frame that a queue consumes from outside is counted in RxStats: as a
// packet, or under a reason. Every packet handed to Send is counted in TxStats
// the same way. See Conservation in ARCHITECTURE.md.
package netdev
