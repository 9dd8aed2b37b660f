package datapath

import (
	"github.com/gvswitch/gvswitch/internal/mem"
	"github.com/gvswitch/gvswitch/netdev"
)

// rxq is an rx queue and what its polling has shown so far. It stays the same for
// as long as the device has the queue.
type rxq struct {
	q  netdev.RxQueue
	id uint16 // of the port

	// Control code's, under Datapath.mu.
	port  *Port
	index int // in the device's Queues
	owner *thread
	pin   bool // by affinity
	load  loadHistory

	// The polling thread's.
	dead  bool // after a fault
	armed bool // Arm was called, Disarm not yet
	busy  mem.Counter
	in    inCounters
}

func newRxq(p *Port, q netdev.RxQueue, i int) *rxq {
	return &rxq{q: q, id: p.id, port: p, index: i, in: inCounters{port: p.id}}
}
