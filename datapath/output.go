package datapath

import (
	"github.com/gvswitch/gvswitch/netdev"
	"github.com/gvswitch/gvswitch/packet"
)

// listCap is how many packets wait for a port at most. push leaves room for a burst,
// which forward adds without looking.
const listCap = 128

// txPort is a thread's way out of a port: the tx queue it uses, what the receiver
// takes, and the packets that wait for the end of the burst.
type txPort struct {
	n      int32 // of list
	listed bool  // in the thread's dirty list
	all    bool  // the receiver takes everything
	csum   bool
	ecn    bool
	gso    uint8  // bit for each GSOType that it takes
	easy   uint32 // frames up to this length fit without a closer look
	maxLen uint32
	mtu    uint32 // 0: any
	id     uint16
	why    packet.DropReason // if q is nil
	q      netdev.TxQueue
	lock   *spinLock // nil: the queue is this thread's only
	c      *outCounters
	tc     *threadCounters // c is part of it; so is what counts injected frames and patches
	list   [listCap]uint16
}

// push puts packet i on o's list, and sends the list if it has no room for a burst
// any more. It sends last: whoever calls has counted the packet, so a fault
// in sending must find it on the list.
func (t *thread) push(o *txPort, i int) {
	o.list[o.n&(listCap-1)] = uint16(i)
	o.n++
	if !o.listed {
		t.list(o)
	}
	if o.n >= listCap-packet.MaxBurst {
		t.flushPort(o)
	}
}

// list notes that o has packets.
func (t *thread) list(o *txPort) {
	if !o.listed {
		o.listed = true
		t.dirty[t.nDirty] = o.id
		t.nDirty++
	}
}

// flush sends what is on the lists, in the order in which ports got their first
// packet.
func (t *thread) flush() {
	for k := 0; k < t.nDirty; k++ {
		o := t.tx[t.dirty[k]]
		o.listed = false
		if o.n != 0 {
			t.flushPort(o)
		}
	}
	t.nDirty = 0
}

// flushPort sends o's list.
func (t *thread) flushPort(o *txPort) {
	list := o.list[:o.n]
	o.n = 0
	o.c.copies.Add(uint64(len(list)))
	if o.q == nil {
		for _, i := range list {
			t.discard(o, o.why, &t.burst.Pkts[i])
		}
		return
	}
	if t.longest > o.easy || t.flags != 0 && !o.all {
		if list = t.fit(o, list); len(list) == 0 {
			return
		}
	}
	t.send(o, t.burst, list)
}

// send hands packets to o's queue.
func (t *thread) send(o *txPort, b *packet.Burst, list []uint16) {
	if t.obs != nil {
		t.sawSent(o, b, list)
	}
	if o.lock != nil {
		o.lock.lock()
		t.locked = o.lock
	}
	o.q.Send(b, list, &o.c.TxStats)
	if o.lock != nil {
		t.locked = nil
		o.lock.unlock()
	}
	t.stats.txBatches.Add(1)
	t.stats.txPackets.Add(uint64(len(list)))
}
